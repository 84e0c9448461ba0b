"""Decide when to stop calling a failing model, so that a run does not collect thousands of identical errors."""

from __future__ import annotations

from ragbed.errors import RagbedError, option
from ragbed.models.failures import FATAL, REJECTED, kind_of_error
from ragbed.schema import Completion

# Maximum number of consecutive fatal errors, i.e. errors whose cause affects every case (e.g. an invalid key), before
# the first response and after it.
_MAX_FATAL_BEFORE_RESPONSE = 3
_MAX_FATAL = 10
# Maximum number of consecutive rejections before the first response. The first prompts may be the cause of rejections,
# which arrive sooner than responses.
_MAX_REJECTED = 32
_MAX_ERRORS = 128  # maximum number of consecutive errors of any kind: twice the maximum concurrency


def change_option() -> str:
    """Return what to do if a server rejects a parameter; the named options belong to all commands except `demo`."""
    names = f"{option('thinking')}, {option('reasoning_effort')} or {option('extra_body')}"
    return f"change the option that sets it, e.g. {names}; {option('temperature', 'none')} omits the temperature."


class CircuitOpen(RagbedError):
    """Raised when a model should no longer be called; its remaining cases stay pending."""


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

    def __init__(self, model: str, advice: str, parameter_fix: str = "", *, has_responses: bool = False) -> None:
        self._model, self._advice, self._parameter_fix = model, advice, parameter_fix or change_option()
        self.has_responses, self._answered = has_responses, False
        self._in_a_row = self._fatal_in_a_row = self._rejected_in_a_row = 0
        self._fatal_fix = ""

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
        self._rejected_in_a_row = self._rejected_in_a_row + 1 if kind_of_error(completion) in REJECTED else 0

    def learn(self, completion: Completion) -> None:
        """Count the outcome of a case.

        Raises:
            CircuitOpen: The model should not be called again.
        """
        kind = kind_of_error(completion)
        if kind == "exception":  # Calling a local function is free, and its author needs all tracebacks.
            return
        self.count(completion)
        if completion.outcome != "error":
            return
        self._fatal_in_a_row = self._fatal_in_a_row + 1 if kind in FATAL else 0
        # Prompts may cause rejections, so a response to any prompt counts.
        answered = self.has_responses if kind in REJECTED else self._answered
        fix = "Add credit or wait until the quota is renewed." if kind == "quota" else self._advice
        self._fatal_fix = "" if answered or (kind == "protocol" and self.has_responses) else fix
        max_fatal = _MAX_FATAL if answered else _MAX_FATAL_BEFORE_RESPONSE
        is_rejected = self._rejected_in_a_row >= _MAX_REJECTED and not self.has_responses
        if self._fatal_in_a_row < max_fatal and self._in_a_row < _MAX_ERRORS and not is_rejected:
            return
        if self.rejects_all:
            raise CircuitOpen(
                f"{self._model} cannot be called: {completion.error}. {self.fix} The remaining cases are pending."
            )
        how = f": {self._in_a_row} cases in a row ended in an error, most recently" if answered else " cannot be called"
        resume = (
            f"The remaining cases are pending. To resume, rerun the same command; for a run, set {option('out')} to "
            "its folder."
        )
        raise CircuitOpen(f"{self._model}{how}: {completion.error}. {f'{fix} {resume}'.strip()}")
