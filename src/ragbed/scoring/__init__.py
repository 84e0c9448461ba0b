"""Score responses. Each scorer is a module or package that maps a case and its response to named scores.

A scorer is a pure function that returns all its values for one response. Cases without a response are not scored. To
add a scorer, write a function and add it to SCORERS. Users add scorers as `python/module:function`, and other packages
in the entry point group `ragbed.scorers` (docs/reference/plugins.md); these scorers are used only if the user names
them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from ragbed import plugins
from ragbed.data import UNVALIDATED
from ragbed.errors import PluginFailed
from ragbed.plugins import find_part
from ragbed.schema import Case, Completion
from ragbed.scoring import code, paper, robust
from ragbed.scoring.value import Value
from ragbed.testbeds.given import GIVEN

Scorer: TypeAlias = Callable[[Case, str], dict[str, Value]]

SCORERS: dict[str, Scorer] = {"code": code.score, "paper": paper.score, "robust": robust.score}


def score(case: Case, reply: str) -> dict[str, Value]:
    """Return the scores of all built-in scorers; without a gold answer, only the robust scorer can judge anything.

    The robust scorer recognises refusals and flagged errors only in English and Chinese. In other languages, they are
    left to a judge.
    """
    scorers = SCORERS.values() if case.answer else (robust.score,)
    values = {name: value for scorer in scorers for name, value in scorer(case, reply).items()}
    if UNVALIDATED in case.data:
        is_guess = values["verdict"] in ("refused", "flag-only")
        values |= {"refused": None, "flagged": None} | ({"verdict": "unsure", "unsure": True} if is_guess else {})
    return values | _score_expected(case, reply, values, ("", "code.", "paper."))


def _score_expected(case: Case, reply: str, values: Mapping[str, Value], prefixes: Iterable[str]) -> dict[str, bool]:
    """Return for each scorer whether a response to given documents is as expected, if its scores decide this."""
    found = {}
    for prefix in prefixes if case.testbed == GIVEN.name else ():
        correct, refused, flagged = (values.get(f"{prefix}{name}") for name in ("correct", "refused", "flagged"))
        if not case.answer:  # all that can be scored is whether there is an answer
            correct = None if refused is None else not refused and bool(reply.strip())
        corrected = [flagged, correct] if case.answer else [flagged]
        needed = {"answer": [correct], "refuse": [refused], "any": [correct, refused]}.get(case.expect, corrected)
        if None not in needed:
            found[f"{prefix}expected"] = any(needed) if case.expect == "any" else all(needed)
    return found


def without_credit(values: dict[str, Value]) -> dict[str, Value]:
    """Return the scores of a truncated response, which gets no credit from the robust scorer.

    The scorers `code` and `paper` score the truncated text, as the original code does.
    """
    without = {name: type(value)(0) for name, value in values.items() if isinstance(value, bool | float)}
    robust_only = {name: value for name, value in without.items() if "." not in name}
    return values | robust_only | {"verdict": "truncated"}


def score_outcome(case: Case, completion: Completion, scorer: Scorer = score) -> dict[str, Value] | None:
    """Return a result's scores, or None if there is no response, because a failed call is not a wrong answer."""
    if completion.outcome not in ("ok", "truncated"):
        return None
    values = scorer(case, completion.reply or "")
    return values if completion.outcome == "ok" else without_credit(values)


def score_and_explain(case: Case, reply: str) -> tuple[dict[str, Value], list[robust.VerdictEvidence]]:
    """Return the scores of all built-in scorers, and the evidence for the robust verdict."""
    return score(case, reply), robust.score_and_explain(case, reply)[1]


def open_scorers(names: Iterable[str]) -> Scorer:
    """Return a function that scores responses with all built-in scorers and with the named scorers.

    Raises:
        UnknownName: No installed package provides a scorer with one of the names.
        UsageError: A function given as `python/module:function` cannot be imported.
    """
    others = {name: find_part(plugins.SCORERS, name, SCORERS) for name in names if name not in SCORERS}

    def score_all(case: Case, reply: str) -> dict[str, Value]:
        values = score(case, reply)
        for name, scorer in others.items():
            try:  # the prefix distinguishes the scores from the built-in ones
                values |= {f"{name}.{score}": value for score, value in _read_scores(name, scorer(case, reply)).items()}
            except Exception as error:  # the user's code can raise any exception
                problem = f"{type(error).__name__}: {error}"
                raise PluginFailed(f"scorer {name!r} failed on case {case.case}: {problem}") from error
        return values | _score_expected(case, reply, values, [f"{name}." for name in others])

    return score_all if others else score


def own_metric(scorer: str, score: str) -> str:
    """Return the metric of a score of a user's scorer: `correct` has the scorer's name, without module or package."""
    return scorer.rpartition(":")[2] if score == "correct" else score


def _read_scores(scorer: str, found: object) -> dict[str, Value]:
    """Return the scores that a user's scorer has returned; numbers become floats, which are not verdicts."""
    if not isinstance(found, Mapping):
        value = _read_score(found)
        found = {"correct" if isinstance(value, bool | None) else own_metric(scorer, "correct"): value}
    return {str(name): _read_score(value) for name, value in found.items()}


def _read_score(value: Any) -> bool | float | None:  # noqa: ANN401 - whatever the user's code returns
    value = value.item() if hasattr(value, "item") else value  # a number of NumPy
    if value is None or isinstance(value, bool):
        return value
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"a score must be True, False, a number or None, or a dictionary of these, not {value!r}")
    return float(value)
