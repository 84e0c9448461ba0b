"""What a language must be able to do, beyond its banks: numbers, money, dates, sentences."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Protocol


class LanguageRules(Protocol):
    """The conventions of one language; each method gives all surface forms, the plainest first."""

    def number_forms(self, number: str, unit: str) -> tuple[str, ...]:
        """A count or measure, given in digits, with its unit."""

    def percent_forms(self, number: str) -> tuple[str, ...]:
        """A share of a hundred."""

    def money_forms(self, amount: int, currency: str) -> tuple[str, ...]:
        """A sum of money."""

    def date_forms(self, day: date) -> tuple[str, ...]:
        """A day, with and without its year."""

    def name_aliases(self, name: str) -> tuple[str, ...]:
        """The ways in which a reader may give a name."""

    def with_variants(self, forms: tuple[str, ...]) -> tuple[str, ...]:
        """Number forms with those that an answer may use though documents do not."""

    def ordinal(self, number: int) -> str:
        """A rank among editions, in words."""

    def sentence(self, words: str) -> str:
        """Words with their capital letter and full stop."""

    def dateline(self, town: str, day: date, outlet: str, reporter: str) -> str:
        """What a wire report opens with."""

    def join(self, sentences: Sequence[str]) -> str:
        """Sentences as a text."""

    def join_questions(self, questions: Sequence[str]) -> str:
        """Several questions as one."""

    def count_tokens(self, text: str) -> int:
        """About how many tokens a language model sees."""

    def content_words(self, question: str) -> tuple[str, ...]:
        """What to look for in a document to see how much it shares with a question."""
