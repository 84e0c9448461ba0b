"""Write numbers, dates, names and sentences in English and Chinese.

`LANGUAGES` has the rules for each language; all of them have the same methods. Methods that return several surface
forms put the plainest one first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import TypeAlias

from ragbed.schema import Lang
from ragbed.text import numeral, spoken

# Number of tokens per word for the tokenizers of SmolLM2 (1.62) and Qwen2.5 (1.58), measured on 600 documents.
# Invented names take more tokens than common words.
_TOKENS_PER_WORD = 1.6
# Number of tokens per Chinese character for Qwen2.5's tokenizer.
_TOKENS_PER_CHARACTER = 0.77

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_ENGLISH_WORD = re.compile(r"[A-Za-z0-9']+")
_ENGLISH_STOP_WORDS = frozenset(
    {"a", "an", "the", "of", "in", "on", "at", "to", "for", "with", "by", "and", "or", "was", "were", "is", "did", "do",
     "does", "what", "which", "who", "whom", "whose", "when", "where", "how", "many", "much", "its", "it", "from"}
)  # fmt: skip
_CHINESE_DIGITS = "零一二三四五六七八九"
_CHINESE_SENTENCE_ENDS = ("。", "！", "？", "…", "：", "。”", "！”", "？”")
_CHINESE_STOP_CHARACTERS = re.compile(r"[的了是在于和与为几多少哪谁什么吗呢，。？《》“”、]")


class _English:
    def number_forms(self, number: str, unit: str) -> tuple[str, ...]:
        if "." in number or len(number) < 4:
            return (f"{number} {unit}",)
        plain = (f"{number} {unit}",) if len(number) == 4 else ()
        return (f"{int(number):,} {unit}", *plain)

    def percent_forms(self, number: str) -> tuple[str, ...]:
        return (f"{number} per cent", f"{number}%", f"{number} percent")

    def money_forms(self, amount: int, currency: str) -> tuple[str, ...]:
        for size, word, letters in ((10**9, "billion", "bn"), (10**6, "million", "m")):
            if amount >= size:
                scaled = f"{amount / size:.2f}".rstrip("0").rstrip(".")
                return (f"{scaled} {word} {currency}", f"{scaled}{letters} {currency}")
        thousands = (f"{amount // 1000}k {currency}",) if amount >= 10_000 and amount % 1000 == 0 else ()
        return (f"{amount:,} {currency}", *thousands)

    def date_forms(self, day: date) -> tuple[str, ...]:
        month = _MONTHS[day.month - 1]
        day_first, month_first = f"{day.day} {month}", f"{month} {day.day}"
        return (f"{day_first} {day.year}", f"{month_first}, {day.year}", day_first, month_first)

    def name_aliases(self, name: str) -> tuple[str, ...]:
        """Return a name without its article, and a second form that also omits a place name at the end."""
        bare = name.removeprefix("the ")
        short = re.split(r", | in ", bare)[0]
        return (bare,) if short == bare else (bare, short)

    def with_variants(self, forms: tuple[str, ...]) -> tuple[str, ...]:
        """Add variants without thousands separators, which models often omit."""
        return tuple(dict.fromkeys((*forms, *(form.replace(",", "") for form in forms))))

    def ordinal(self, number: int) -> str:
        return _ORDINALS[number - 1]

    def sentence(self, words: str) -> str:
        start = 1 if words[0] == '"' else 0
        words = words[:start] + words[start].upper() + words[start + 1 :]
        return words if words[-1] in ".?!…" or words.endswith(('?"', '."')) else words + "."

    def dateline(self, town: str, day: date, outlet: str, reporter: str) -> str:  # noqa: ARG002 - Chinese names it
        return f"{town.upper()}, {day.day} {_MONTHS[day.month - 1]} ({outlet}) – "

    def join(self, sentences: Sequence[str]) -> str:
        return " ".join(sentences)

    def join_questions(self, questions: Sequence[str]) -> str:
        first, *others = [question.rstrip("?") for question in questions]
        others = [question[0].lower() + question[1:] for question in others]
        return ", ".join([first, *others[:-1]]) + f", and {others[-1]}?"

    def count_tokens(self, text: str) -> int:
        return round((text.count(" ") + 1) * _TOKENS_PER_WORD)  # words are separated by single spaces

    def content_words(self, question: str) -> tuple[str, ...]:
        return tuple(word for word in _ENGLISH_WORD.findall(question.lower()) if word not in _ENGLISH_STOP_WORDS)


class _Chinese:
    def number_forms(self, number: str, unit: str) -> tuple[str, ...]:
        if "." in number:
            return (f"{number}{unit}",)
        whole = int(number)
        return tuple(form + unit for form in (number, *_abbreviated(whole), spoken(whole)))

    def percent_forms(self, number: str) -> tuple[str, ...]:
        whole, _, part = number.partition(".")
        spelled = numeral(int(whole)) + ("点" + "".join(_CHINESE_DIGITS[int(digit)] for digit in part) if part else "")
        return (f"{number}%", f"百分之{spelled}")

    def money_forms(self, amount: int, currency: str) -> tuple[str, ...]:
        short = _abbreviated(amount) or (str(amount),)
        return tuple(form + currency for form in (*short, spoken(amount)))

    def date_forms(self, day: date) -> tuple[str, ...]:
        short = f"{day.month}月{day.day}日"
        return (f"{day.year}年{short}", short, f"{numeral(day.month)}月{numeral(day.day)}日")

    def name_aliases(self, name: str) -> tuple[str, ...]:
        """Return a name and, if it is foreign, its last part, unless this part is too short to be unambiguous."""
        last = name.rsplit("·", 1)[-1]
        return (name, last) if last != name and len(last) >= 3 else (name,)

    def with_variants(self, forms: tuple[str, ...]) -> tuple[str, ...]:
        return forms  # Chinese answers have no other forms

    def ordinal(self, number: int) -> str:
        return f"第{numeral(number)}"

    def sentence(self, words: str) -> str:
        return words if words.endswith(_CHINESE_SENTENCE_ENDS) else words + "。"

    def dateline(self, town: str, day: date, outlet: str, reporter: str) -> str:
        return f"{outlet}{town.removesuffix('市').removesuffix('县')}{day.month}月{day.day}日电（记者{reporter}）"

    def join(self, sentences: Sequence[str]) -> str:
        return "".join(sentences)

    def join_questions(self, questions: Sequence[str]) -> str:
        *others, last = [question.rstrip("？") for question in questions]
        return "，".join(others) + f"，以及{last}？"

    def count_tokens(self, text: str) -> int:
        return round(len(text) * _TOKENS_PER_CHARACTER)

    def content_words(self, question: str) -> tuple[str, ...]:
        pieces = _CHINESE_STOP_CHARACTERS.split(question)
        return tuple(piece[at : at + 2] for piece in pieces for at in range(len(piece) - 1))


def _abbreviated(amount: int) -> tuple[str, ...]:
    """Return the amount in digits with 万 or 亿, or an empty tuple if it would need too many digits."""
    for size, word in ((10**8, "亿"), (10**4, "万")):
        if amount >= size:
            scaled = f"{amount / size:.4f}".rstrip("0").rstrip(".")
            return (scaled + word,) if len(scaled) <= 6 else ()
    return ()


LanguageRules: TypeAlias = _English | _Chinese
LANGUAGES: dict[Lang, LanguageRules] = {"en": _English(), "zh": _Chinese()}
