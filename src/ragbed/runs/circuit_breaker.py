"""Decide when to stop calling a failing model, so that a run does not collect thousands of identical errors."""

from __future__ import annotations

import re

from ragbed.errors import RagbedError
from ragbed.models.failures import FATAL, REJECTED
from ragbed.schema import Completion

# Maximum number of consecutive fatal errors, i.e. errors whose cause affects every case (e.g. an invalid key), before
# the first response and after it.
_MAX_FATAL_BEFORE_RESPONSE = 3
_MAX_FATAL = 10
_RESUME = "The remaining cases are pending. To resume, rerun the same command; for a run, set `out` to its folder."
REJECTS_ALL = (
    "The server rejects every request, so the same command would fail again. Change the option that the message "
    "names, e.g. `max_tokens`, `thinking`, `reasoning_effort` or `extra_body`; temperature=none omits the temperature."
)
_FIXES: dict[str, str] = {
    **dict.fromkeys(REJECTED, f"{REJECTS_ALL} The remaining cases are pending."),
    "quota": f"Add credit or wait until the quota is renewed. {_RESUME}",
}
_VARIABLE = re.compile(r"[\w-]*\d[\w-]*")  # matches numbers and identifiers that contain digits
_MAX_ERRORS = 128  # maximum number of consecutive errors of any kind: twice the maximum concurrency


class CircuitOpen(RagbedError):
    """Raised when a model should no longer be called; its remaining cases stay pending."""


class CircuitBreaker:
    """Decides whether to keep calling a model.

    Args:
        model: The model's name.
        advice: A sentence that tells the user what to check.
    """

    def __init__(self, model: str, advice: str) -> None:
        self._model, self._advice = model, advice
        self._answered = False
        self._in_a_row = self._fatal_in_a_row = 0
        self._last_request_error = ""

    def learn(self, completion: Completion) -> None:
        """Count the outcome of a case.

        Raises:
            CircuitOpen: The model should not be called again.
        """
        if completion.outcome != "error":
            self._answered, self._in_a_row, self._fatal_in_a_row = True, 0, 0
            return
        kind = (completion.error or "").partition(":")[0]
        if kind == "exception":  # Calling a local function is free, and its author needs all tracebacks.
            return
        self._in_a_row += 1
        is_fatal = kind in FATAL or (kind == "request" and self._is_repeated(completion.error or ""))
        self._fatal_in_a_row = self._fatal_in_a_row + 1 if is_fatal else 0
        max_fatal = _MAX_FATAL if self._answered else _MAX_FATAL_BEFORE_RESPONSE
        if self._fatal_in_a_row >= max_fatal or self._in_a_row >= _MAX_ERRORS:
            how = f": {self._in_a_row} cases in a row ended in an error, most recently"
            fix = _FIXES.get(kind, f"{self._advice} {_RESUME}".strip())
            raise CircuitOpen(
                f"{self._model}{how if self._answered else ' cannot be called'}: {completion.error}. {fix}"
            )

    def _is_repeated(self, error: str) -> bool:
        """Return whether a rejection has the same message as the last one, ignoring numbers such as request IDs.

        If the messages differ, the rejections may be due to the prompts, in which case other cases are not affected.
        """
        before, self._last_request_error = self._last_request_error, _VARIABLE.sub("", error)
        return not before or before == self._last_request_error
