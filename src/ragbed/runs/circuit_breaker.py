"""Decide when to stop calling a failing model, so that a run does not collect thousands of identical errors."""

from __future__ import annotations

from collections.abc import Collection
from itertools import takewhile

from ragbed.errors import RagbedError, option
from ragbed.models.failures import FATAL, REJECTED
from ragbed.runs.store import kind_of_error
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
    """Return advice for a rejected parameter; all commands except `demo` have the options that it names."""
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
        self._errors: list[str | None] = []  # the kinds of all errors since the last response
        self._fatal_fix = ""

    @property
    def rejects_all(self) -> bool:
        """Whether the model has never responded, and all errors are rejections."""
        return not self.has_responses and 0 < len(self._errors) == self._in_a_row(REJECTED)

    def _in_a_row(self, kinds: Collection[str | None]) -> int:
        """Return how many of the last errors are of the given kinds."""
        return len(list(takewhile(kinds.__contains__, reversed(self._errors))))

    @property
    def fix(self) -> str:
        """What to do if the same command would fail again because every call has failed; otherwise an empty string."""
        if self.rejects_all:
            rejected = f"The server rejects every request, so the same command would fail again. {self._advice}"
            return f"{rejected.rstrip()} If the server's message names a parameter, {self._parameter_fix}"
        return self._fatal_fix if 0 < len(self._errors) == self._in_a_row(FATAL) else ""

    def count(self, completion: Completion) -> None:
        """Count the outcome of a case without deciding whether to keep calling the model."""
        if completion.outcome == "error":
            self._errors.append(kind_of_error(completion))
        else:
            self.has_responses = self._answered = True
            self._errors.clear()

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
        # A rejection can be caused by its prompt, so a response to any other prompt shows that the model works.
        answered = self.has_responses if kind in REJECTED else self._answered
        fix = "Add credit or wait until the quota is renewed." if kind == "quota" else self._advice
        self._fatal_fix = "" if answered or (kind == "protocol" and self.has_responses) else fix
        is_fatal = self._in_a_row(FATAL) >= (_MAX_FATAL if answered else _MAX_FATAL_BEFORE_RESPONSE)
        is_rejected = self._in_a_row(REJECTED) >= _MAX_REJECTED and not self.has_responses
        if not (is_fatal or is_rejected or len(self._errors) >= _MAX_ERRORS):
            return
        if self.rejects_all:
            raise CircuitOpen(
                f"{self._model} cannot be called: {completion.error}. {self.fix} The remaining cases are pending."
            )
        failed = f": {len(self._errors)} cases in a row ended in an error, most recently"
        resume = (
            f"The remaining cases are pending. To resume, rerun the same command; for a run, set {option('out')} to "
            "its folder."
        )
        how = failed if answered else " cannot be called"
        raise CircuitOpen(f"{self._model}{how}: {completion.error}. {f'{fix} {resume}'.strip()}")
