"""Chinese: how numbers, dates and sentences are written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date

from ragbed.text import numeral, spoken

TOKENS_PER_CHARACTER = 0.77
"""What the vocabulary of Qwen2.5 makes of these documents, on 600 of them."""

_DIGITS = "零一二三四五六七八九"
_ENDS = ("。", "！", "？", "…", "：", "。”", "！”", "？”")
_COMMON = re.compile(r"[的了是在于和与为几多少哪谁什么吗呢，。？《》“”、]")


def _in_ten_thousands(amount: int) -> tuple[str, ...]:
    """Digits with 万 or 亿, where they come out short."""
    for size, word in ((10**8, "亿"), (10**4, "万")):
        if amount >= size:
            scaled = f"{amount / size:.4f}".rstrip("0").rstrip(".")
            return (scaled + word,) if len(scaled) <= 6 else ()
    return ()


class Chinese:
    """The conventions of Chinese; see `Tongue`."""

    def number_forms(self, number: str, unit: str) -> tuple[str, ...]:
        """Digits, digits with 万, and numerals."""
        if "." in number:
            return (f"{number}{unit}",)
        whole = int(number)
        return tuple(form + unit for form in (number, *_in_ten_thousands(whole), spoken(whole)))

    def percent_forms(self, number: str) -> tuple[str, ...]:
        """With the sign, or as 百分之."""
        whole, _, part = number.partition(".")
        spelled = numeral(int(whole)) + ("点" + "".join(_DIGITS[int(digit)] for digit in part) if part else "")
        return (f"{number}%", f"百分之{spelled}")

    def money_forms(self, amount: int, currency: str) -> tuple[str, ...]:
        """Digits with 万 or 亿, and numerals."""
        short = _in_ten_thousands(amount) or (str(amount),)
        return tuple(form + currency for form in (*short, spoken(amount)))

    def date_forms(self, day: date) -> tuple[str, ...]:
        """In digits with and without the year, and in numerals."""
        return (
            f"{day.year}年{day.month}月{day.day}日",
            f"{day.month}月{day.day}日",
            f"{numeral(day.month)}月{numeral(day.day)}日",
        )

    def name_aliases(self, name: str) -> tuple[str, ...]:
        """A foreign name also by its last part, where that is long enough to be told apart."""
        last = name.rsplit("·", 1)[-1]
        return (name, last) if last != name and len(last) >= 3 else (name,)

    def with_variants(self, forms: tuple[str, ...]) -> tuple[str, ...]:
        """No others: documents use them all."""
        return forms

    def ordinal(self, number: int) -> str:
        """As 第几."""
        return f"第{numeral(number)}"

    def sentence(self, words: str) -> str:
        """A full stop last; what already ends in a mark keeps it."""
        return words if words.endswith(_ENDS) else words + "。"

    def dateline(self, town: str, day: date, outlet: str, reporter: str) -> str:
        """As agencies write it: outlet, town, day, reporter; a town goes without the word for it."""
        return f"{outlet}{town.removesuffix('市').removesuffix('县')}{day.month}月{day.day}日电（记者{reporter}）"

    def join(self, sentences: Sequence[str]) -> str:
        """With nothing between them."""
        return "".join(sentences)

    def join_questions(self, questions: Sequence[str]) -> str:
        """With semicolons; the last one opens with 以及."""
        *others, last = [question.rstrip("？") for question in questions]
        return "，".join(others) + f"，以及{last}？"

    def count_tokens(self, text: str) -> int:
        """Characters times a factor."""
        return round(len(text) * TOKENS_PER_CHARACTER)

    def content_words(self, question: str) -> tuple[str, ...]:
        """Pairs of neighbouring characters, common ones cut out."""
        return tuple(
            piece[at : at + 2] for piece in _COMMON.split(question) if len(piece) > 1 for at in range(len(piece) - 1)
        )
