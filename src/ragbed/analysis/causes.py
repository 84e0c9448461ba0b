"""Summarise why the answers of a RAG system are wrong: one sentence with counts and intervals per model and dataset.

The cause of each wrong answer is one of its scores (`ragbed.scoring.causes`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ragbed.analysis.locale import read_words
from ragbed.analysis.metrics.cells import CellBuilder
from ragbed.analysis.run_cells import read_groups
from ragbed.analysis.trials.columns import CAUSE, Floats, Labels, TrialColumns, TrialGroup
from ragbed.runs.display_names import read_row_names
from ragbed.runs.store import open_scored
from ragbed.schema import Estimate, Lang
from ragbed.scoring.causes import CAUSES
from ragbed.testbeds import headline_score
from ragbed.testbeds.own_rag import NAME, VARIANTS

_MOSTLY = 0.5
_NAMED = 3  # maximum number of causes in a sentence


class Cause(NamedTuple):
    """A cause with its share of the wrong answers."""

    name: str
    number: int
    share: Estimate


class CauseSummary(NamedTuple):
    """Why the answers of a model on a dataset are wrong.

    Attributes:
        rates: The rate of right behaviour under each condition; in `withheld`, this is a refusal.
        wrong: Number of wrong answers under all conditions.
        causes: The causes, the most frequent first.
        cause_of: The cause of each wrong answer, by item, variant of the documents and repeat.
        failed: Number of calls without a response.
        asked: Number of calls.
    """

    key: TrialGroup
    rates: dict[str, Estimate]
    wrong: int
    causes: list[Cause]
    cause_of: dict[tuple[str, str, int], str]
    failed: int
    asked: int


def summarise_causes(groups: Sequence[TrialColumns]) -> list[CauseSummary]:
    """Return a summary for each group that has trials of the testbed `own-rag`."""
    return [_summarise(trials) for trials in groups if any(testbed == NAME for testbed, _ in trials.kinds)]


def read_causes(folder: Path, labels: Labels | None = None) -> list[CauseSummary]:
    """Return the summaries of a run; `labels` are the names of the models if they must be unique across more runs."""
    with open_scored(folder) as store:
        if NAME not in store.settings().get("testbeds", ""):
            return []
    return summarise_causes(read_groups([folder], labels=labels or read_row_names([folder]).labels))


def _summarise(trials: TrialColumns) -> CauseSummary:
    builder = CellBuilder(NAME, trials, "robust")
    masks = {arm: trials.of(NAME, arm) & trials.asked for testbed, arm in trials.kinds if testbed == NAME}
    order = {name: at for at, name in enumerate(VARIANTS)}
    arms = sorted((arm for arm in masks if masks[arm].any()), key=lambda arm: (order[arm.partition("=")[0]], arm))
    rates = {
        arm: builder.rate("accuracy", masks[arm], builder.score(headline_score(NAME, arm))).estimate for arm in arms
    }
    every = reduce(or_, masks.values())
    columns = {name: np.nan_to_num(trials.additional(f"{CAUSE}{name}")) for name in CAUSES}
    wrong = every & np.asarray(sum(columns.values()) > 0)
    _resolve_unknown(trials, columns)
    causes = [
        Cause(name, int(values[wrong].sum()), builder.rate(name, wrong, values).estimate)
        for name, values in columns.items()
        if values[wrong].any()
    ]
    cause_of = {
        (trials.items[trials.item[at]], trials.kinds[trials.kind[at]][1], int(trials.repeat[at])): name
        for name, values in columns.items()
        for at in np.flatnonzero(wrong & (values > 0))
    }
    return CauseSummary(
        trials.key,
        rates,
        int(wrong.sum()),
        sorted(causes, key=lambda cause: -cause.number),
        cause_of,
        int((every & trials.failed).sum()),
        int(every.sum()),
    )


def _resolve_unknown(trials: TrialColumns, columns: dict[str, Floats]) -> None:
    """Replace unknown causes by those that follow from the responses to the same questions with their evidence.

    These are the trials of the testbed `noise` without distractors, if the run has any.
    """
    given = (
        trials.asked
        & (trials.noise == 0)
        & np.isin(trials.kind, [at for at, one in enumerate(trials.kinds) if one[0] == "noise"])
    )
    correct, refused = trials.score("correct", "robust"), trials.score("refused", "robust")
    for place in np.flatnonzero(columns["unknown"]):
        same = given & (trials.item == trials.item[place])
        if same.any():
            is_able = correct[same].mean() > _MOSTLY
            cause = "refused-despite-evidence" if refused[same].mean() > _MOSTLY else "not-used"
            columns["unknown"][place], columns["not-retrieved" if is_able else cause][place] = 0.0, 1.0


def describe_causes(summary: CauseSummary, lang: Lang = "en") -> str:
    """Return the sentence that says how good the answers are and why they are wrong."""
    words, space = read_words(lang), " " if lang == "en" else ""
    failed = [words("causes.failed", failed=summary.failed, asked=summary.asked)] if summary.failed else []
    if summary.failed == summary.asked:  # there is no answer, so a rate would say nothing about the system
        return failed[0]
    joint = words("causes.joint") + space
    rates = [
        words(f"causes.rate.{arm.partition('=')[0]}", rate=show_rate(rate), n=rate.n) + f" ({arm})" * ("=" in arm)
        for arm, rate in summary.rates.items()
    ]
    text = words("causes.rates", rates=joint.join(rates))
    texts = [text[:1].upper() + text[1:]]
    if summary.wrong:
        first, meanings = summary.causes[0], [words(f"causes.meaning.{cause.name}") for cause in summary.causes]
        text = words(
            "causes.first", meaning=meanings[0], count=first.number, wrong=summary.wrong, share=show_rate(first.share)
        )
        named = [text[:1].upper() + text[1:] + (words("causes.scoring") if first.name == "scoring" else "")]
        named += [
            words("causes.more", meaning=meaning, count=cause.number)
            for cause, meaning in [*zip(summary.causes, meanings, strict=True)][1:_NAMED]
        ]
        texts.append(joint.join(named) + words("causes.end"))
    texts += failed
    if unknown := next((cause.number for cause in summary.causes if cause.name == "unknown"), 0):
        texts.append(words("causes.unknown", count=unknown))
    return space.join(texts)


def show_rate(rate: Estimate) -> str:
    """Return a rate with its interval as whole-number percentages."""
    bounds = "" if rate.low is None or rate.high is None else f" [{100 * rate.low:.0f}, {100 * rate.high:.0f}]"
    return "–" if rate.value is None else show_percent(rate.value) + bounds


def show_percent(value: float) -> str:
    """Return a share as a whole-number percentage. Only shares of exactly 0 and 1 are shown as 0% and 100%."""
    rounded = round(100 * value)
    if rounded == 0 and value > 0:
        return "<1%"
    return ">99%" if rounded == 100 and value < 1 else f"{rounded}%"


def describe_run(summaries: Sequence[CauseSummary], lang: Lang = "en") -> list[str]:
    """Return the sentence of each model and dataset in a run, with their names if there are several."""
    names = {(one.key.model, one.key.data) for one in summaries}
    return [
        (f"{one.key.model}, {one.key.data}: " if len(names) > 1 else "") + describe_causes(one, lang)
        for one in summaries
    ]
