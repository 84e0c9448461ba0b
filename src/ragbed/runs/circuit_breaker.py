"""When to stop asking a model: nobody wants ten thousand cases to end in the same error."""

from __future__ import annotations

from ragbed.errors import RagbedError
from ragbed.models.failures import FATAL
from ragbed.schema import Completion

_AT_FIRST = 3
"""Errors in a row that no other case will escape (a wrong key), before anything was answered."""
_LATER = 10
"""The same after something was: a key that was revoked, an account that is used up, a server that is gone."""
_OF_ANY_KIND = 128
"""Errors of whatever kind in a row, twice as many as calls at once: a server that answers 500 for hours."""


class CircuitOpen(RagbedError):
    """A model answers no more; what was not asked of it is pending."""


class CircuitBreaker:
    """Whether it makes sense to go on asking a model.

    Args:
        model: Its name.
        advice: What a user can check.
    """

    def __init__(self, model: str, advice: str) -> None:
        self._model, self._advice = model, advice
        self._answered = False
        self._in_a_row = self._fatal_in_a_row = 0

    def learn(self, completion: Completion) -> None:
        """Takes in how a case ended.

        Raises:
            GivenUp: No further case should be asked.
        """
        if completion.outcome != "error":
            self._answered, self._in_a_row, self._fatal_in_a_row = True, 0, 0
            return
        kind = (completion.error or "").partition(":")[0]
        if kind == "exception":  # A function in this process costs nothing, and its author wants all tracebacks.
            return
        self._in_a_row += 1
        self._fatal_in_a_row = self._fatal_in_a_row + 1 if kind in FATAL else 0
        if self._fatal_in_a_row >= (_LATER if self._answered else _AT_FIRST) or self._in_a_row >= _OF_ANY_KIND:
            how = f": {self._in_a_row} cases in a row ended in an error, the last"
            raise CircuitOpen(
                f"{self._model}{how if self._answered else ' cannot be asked'}: {completion.error}. {self._advice} "
                "What was not asked is pending; the same command in the same folder (--out; of a build -o) goes on."
            )
