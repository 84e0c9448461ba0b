"""English: how numbers, dates and sentences are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_WORD = re.compile(r"[A-Za-z0-9']+")
_COMMON = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "for", "with", "by", "and", "or", "was", "were", "is", "did", "do",
     "does", "what", "which", "who", "whom", "whose", "when", "where", "how", "many", "much", "its", "it", "from"}
)  # fmt: skip
TOKENS_PER_WORD = 1.6
"""What the vocabularies of SmolLM2 (1.62) and Qwen2.5 (1.58) make of these documents, on 600 of them; invented
names take more tokens than others."""


class English:
    """The conventions of English; see `Tongue`."""

    def number_forms(self, number: str, unit: str) -> tuple[str, ...]:
        """Digits with thousands separators; four of them also without."""
        if "." in number or len(number) < 4:
            return (f"{number} {unit}",)
        plain = (f"{number} {unit}",) if len(number) == 4 else ()
        return (f"{int(number):,} {unit}", *plain)

    def percent_forms(self, number: str) -> tuple[str, ...]:
        """In words and with the sign."""
        return (f"{number} per cent", f"{number}%", f"{number} percent")

    def money_forms(self, amount: int, currency: str) -> tuple[str, ...]:
        """In words, abbreviated, or in digits where the sum is small."""
        for size, word, letters in ((10**9, "billion", "bn"), (10**6, "million", "m")):
            if amount >= size:
                scaled = f"{amount / size:.2f}".rstrip("0").rstrip(".")
                return (f"{scaled} {word} {currency}", f"{scaled}{letters} {currency}")
        thousands = (f"{amount // 1000}k {currency}",) if amount >= 10_000 and amount % 1000 == 0 else ()
        return (f"{amount:,} {currency}", *thousands)

    def date_forms(self, day: date) -> tuple[str, ...]:
        """Day first and month first, with the year and without."""
        month = _MONTHS[day.month - 1]
        return (
            f"{day.day} {month} {day.year}",
            f"{month} {day.day}, {day.year}",
            f"{day.day} {month}",
            f"{month} {day.day}",
        )

    def name_aliases(self, name: str) -> tuple[str, ...]:
        """The name without its article, and without the place that follows it."""
        bare = name.removeprefix("the ")
        short = re.split(r", | in ", bare)[0]
        return (bare,) if short == bare else (bare, short)

    def with_variants(self, forms: tuple[str, ...]) -> tuple[str, ...]:
        """Also without thousands separators, as models often write."""
        return tuple(dict.fromkeys((*forms, *(form.replace(",", "") for form in forms))))

    def ordinal(self, number: int) -> str:
        """As a word; there are ten at most."""
        return _ORDINALS[number - 1]

    def sentence(self, words: str) -> str:
        """A capital first, a stop last; what already ends in a mark keeps it."""
        start = 1 if words[0] == '"' else 0
        words = words[:start] + words[start].upper() + words[start + 1 :]
        return words if words[-1] in ".?!…" or words.endswith(('?"', '."')) else words + "."

    def dateline(self, town: str, day: date, outlet: str, reporter: str) -> str:  # noqa: ARG002 - not in English
        """As agencies write it: TOWN, day month (outlet)."""
        return f"{town.upper()}, {day.day} {_MONTHS[day.month - 1]} ({outlet}) – "

    def join(self, sentences: Sequence[str]) -> str:
        """With spaces between them."""
        return " ".join(sentences)

    def join_questions(self, questions: Sequence[str]) -> str:
        """With commas, and an 'and' before the last."""
        first, *others = [question.rstrip("?") for question in questions]
        others = [question[0].lower() + question[1:] for question in others]
        return ", ".join([first, *others[:-1]]) + f", and {others[-1]}?"

    def count_tokens(self, text: str) -> int:
        """Words times a factor; one space stands between any two."""
        return round((text.count(" ") + 1) * TOKENS_PER_WORD)

    def content_words(self, question: str) -> tuple[str, ...]:
        """Its words without the common ones."""
        return tuple(word for word in _WORD.findall(question.lower()) if word not in _COMMON)
