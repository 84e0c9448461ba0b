"""Decide when to stop calling a failing model, so that a run does not collect thousands of identical errors."""

from __future__ import annotations

import math
import re

from ragbed.errors import RagbedError
from ragbed.models.failures import FATAL, REJECTED
from ragbed.schema import Completion

# Maximum number of consecutive fatal errors, i.e. errors whose cause affects every case (e.g. an invalid key), before
# the first response and after it.
_MAX_FATAL_BEFORE_RESPONSE = 3
_MAX_FATAL = 10
_MAX_ERRORS = 128  # maximum number of consecutive errors of any kind: twice the maximum concurrency
_RESUME = "The remaining cases are pending. To resume, rerun the same command; for a run, set `out` to its folder."
# What to do if a server rejects a parameter; the named options belong to all commands except `demo`.
CHANGE_OPTION = (
    "change the option that sets it, e.g. `thinking`, `reasoning_effort` or `extra_body`; temperature=none omits the "
    "temperature."
)
_VARIABLE = re.compile(r"[\w-]*\d[\w-]*")  # matches numbers and identifiers that contain digits


class CircuitOpen(RagbedError):
    """Raised when a model should no longer be called; its remaining cases stay pending."""


class RequestsRejected(CircuitOpen):
    """Raised when a server rejects every request, so that the same command would fail again."""


class CircuitBreaker:
    """Decides whether to keep calling a model.

    Args:
        model: The model's name.
        advice: A sentence that tells the user what to check.
        parameter_fix: What to do if the server rejects a parameter.
        has_responses: Whether an earlier session has responses.

    Attributes:
        has_responses: Whether the model has responded to a case, in any session or according to the cache.
    """

    def __init__(
        self, model: str, advice: str, parameter_fix: str = CHANGE_OPTION, *, has_responses: bool = False
    ) -> None:
        self._model, self._advice, self._parameter_fix = model, advice, parameter_fix
        self.has_responses, self._answered = has_responses, False
        self._in_a_row = self._fatal_in_a_row = self._rejected_in_a_row = 0
        self._last_request_error = self._fatal_fix = ""
        self._started = self._awaited = 0  # numbers of calls; 0 means none
        self._running: set[int] = set()  # the numbers of the calls in flight

    @property
    def rejects_all(self) -> bool:
        """Whether the model has never responded, and all errors are rejections."""
        return not self.has_responses and 0 < self._in_a_row == self._rejected_in_a_row

    @property
    def fix(self) -> str:
        """What to do if the same command would fail again because every call has failed; otherwise an empty string."""
        if self.rejects_all:
            rejected = f"The server rejects every request, so the same command would fail again. {self._advice}"
            return f"{rejected.rstrip()} If the server's message names a parameter, {self._parameter_fix}"
        return self._fatal_fix if 0 < self._in_a_row == self._fatal_in_a_row else ""

    def count(self, completion: Completion) -> None:
        """Count the outcome of a case without deciding whether to keep calling the model."""
        if completion.outcome != "error":
            self.has_responses = self._answered = True
            self._in_a_row = self._fatal_in_a_row = self._rejected_in_a_row = 0
            return
        self._in_a_row += 1
        self._rejected_in_a_row = self._rejected_in_a_row + 1 if _kind(completion) in REJECTED else 0

    def start(self) -> int:
        """Return the number of a call that is about to be made."""
        self._started += 1
        self._running.add(self._started)
        return self._started

    def learn(self, completion: Completion, call: int = 0) -> None:
        """Count the outcome of a case.

        Args:
            completion: The outcome.
            call: The number of the call, if it has one.

        Raises:
            CircuitOpen: The model should not be called again.
        """
        self._running.discard(call)
        kind = _kind(completion)
        if kind == "exception":  # Calling a local function is free, and its author needs all tracebacks.
            return
        self.count(completion)
        if completion.outcome != "error":
            return
        is_fatal = kind in FATAL or (kind == "request" and self._is_repeated(completion.error or ""))
        self._fatal_in_a_row = self._fatal_in_a_row + 1 if is_fatal else 0
        # Prompts may cause rejections, so a response to any prompt counts.
        answered = self.has_responses if kind in REJECTED else self._answered
        fix = "Add credit or wait until the quota is renewed." if kind == "quota" else self._advice
        self._fatal_fix = "" if answered or (kind == "protocol" and self.has_responses) else fix
        max_fatal = _MAX_FATAL if answered else _MAX_FATAL_BEFORE_RESPONSE
        is_over = self._fatal_in_a_row >= max_fatal
        if kind == "request" and not self.has_responses:
            # If the messages of rejections differ, the first questions may be the cause. Rejections arrive sooner than
            # responses, so wait for the calls in flight.
            is_over = is_over or self._rejected_in_a_row >= _MAX_FATAL
            self._awaited = (self._awaited or self._started) if is_over else 0
            is_over = is_over and min(self._running, default=math.inf) > self._awaited
        if not is_over and self._in_a_row < _MAX_ERRORS:
            return
        if self.rejects_all:
            raise RequestsRejected(
                f"{self._model} cannot be called: {completion.error}. {self.fix} The remaining cases are pending."
            )
        how = f": {self._in_a_row} cases in a row ended in an error, most recently" if answered else " cannot be called"
        raise CircuitOpen(f"{self._model}{how}: {completion.error}. {f'{fix} {_RESUME}'.strip()}")

    def _is_repeated(self, error: str) -> bool:
        """Return whether a rejection has the same message as the last one, ignoring numbers such as request IDs.

        If the messages differ, the rejections may be due to the prompts, in which case other cases are not affected.
        """
        before, self._last_request_error = self._last_request_error, _VARIABLE.sub("", error)
        return not before or before == self._last_request_error


def _kind(completion: Completion) -> str:
    return (completion.error or "").partition(":")[0]
