"""What judges said, as `ragbed judge` prints it: rates, agreement with people, replies for people to label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ragbed.analysis.judging.judge_run import Scope
    from ragbed.analysis.judging.labels import LabelledUnit, Labels
    from ragbed.analysis.judging.tally import JudgedCell
    from ragbed.analysis.judging.validation import CorrectedRate, JudgedResult, JudgeValidation
    from ragbed.analysis.judging.verdict import Verdict
    from ragbed.analysis.statistics.rates import Interval
    from ragbed.runs.condition import Condition
    from ragbed.runs.store import StoredResult


class Judging:
    """One criterion of a run, judged; everything is read when it is asked for."""

    def __init__(self, scope: Scope, folder: Path, judges: Sequence[str], labels: Labels | None) -> None:
        self.scope, self._folder, self._judges, self._labels = scope, folder, judges, labels

    @cached_property
    def replies(self) -> list[StoredResult]:
        """What was judged."""
        return list(self.scope.replies())

    @cached_property
    def judgements(self) -> dict[str, dict[str, Verdict]]:
        """What every judge said."""
        from ragbed.analysis.judging.judge_run import read_judgements

        return read_judgements(self._folder, self.scope.criterion, self._judges)

    @cached_property
    def cells(self) -> list[JudgedCell]:
        """Counts by condition."""
        from ragbed.analysis.judging.tally import tabulate

        return tabulate(self.scope, self.replies, self.judgements)

    @cached_property
    def seen(self) -> dict[str, list[JudgedResult]]:
        """Every judge's verdicts beside people's."""
        from ragbed.analysis.judging.labels import Labels
        from ragbed.analysis.judging.validation import join_labels

        labels = self._labels or Labels()
        return {judge: join_labels(self.scope, self.replies, said, labels) for judge, said in self.judgements.items()}

    @cached_property
    def passports(self) -> list[JudgeValidation]:
        """Agreement with people, where they labelled anything."""
        from ragbed.analysis.judging.validation import validate_judge

        name = self.scope.criterion.name
        return [one for judge, judged in self.seen.items() for one in validate_judge(judge, name, judged)]

    def corrected(self, judge: str) -> dict[Condition, CorrectedRate]:
        """Corrected rates, where they can be had."""
        from ragbed.analysis.judging.validation import correct_rates

        return {} if self._labels is None else correct_rates(self.seen[judge])


def print_judged(judged: Sequence[Judging], labels: Labels | None, *, to_stderr: bool) -> dict[str, object]:
    """Prints the tables; gives the same as plain values."""
    if labels is not None:
        labels.keep({unit for one in judged for unit in _units(one)})
    cells = [cell for one in judged for cell in _print_rates(one, to_stderr=to_stderr)]
    summary: dict[str, object] = {"cells": cells}
    if labels is not None:
        summary["passports"] = _print_passports(judged, to_stderr=to_stderr)
        summary["labels"] = _tell_labels(labels)
    summary["judges"] = _print_judges(judged, to_stderr=to_stderr)
    return summary


def write_sample(judged: Sequence[Judging], size: int, output: Path) -> None:
    """Writes replies for people to label."""
    import msgspec

    from ragbed.analysis.judging.sample import draw_sample
    from ragbed.cli.console import say
    from ragbed.io.jsonl import write_whole
    from ragbed.text import counted

    drawn = [label for one in judged for label in draw_sample(one.scope, one.replies, one.judgements, size)]
    with write_whole(output) as sink:
        for label in drawn:
            sink.write(msgspec.json.encode(label) + b"\n")
    written = counted(len(drawn), "response")
    say(f"{written} written to {output}. Fill in label (true or false) and rater, then pass it to --labels.")


def _print_rates(one: Judging, *, to_stderr: bool) -> list[dict[str, object]]:
    from ragbed.cli.console import print_table
    from ragbed.runs.display_names import read_names, short_names

    columns = (
        "model",
        "data",
        "testbed",
        "lang",
        "noise",
        "asked",
        "errors",
        "undecided",
        "yes %",
        "CR %",
        "corrected %",
    )
    told, names, judges = [], read_names([one.scope.run]), short_names(one.judgements)
    for judge in one.judgements:
        corrected = one.corrected(judge)
        rows = []
        for cell in (cell for cell in one.cells if cell.judge == judge):
            better = corrected.get(cell.condition)
            shown = "uncorrected" if better is None else _percent(better.corrected.rate)
            rows.append(
                (
                    *_describe(cell.condition, names[cell.condition.model]),
                    cell.asked,
                    cell.errors,
                    cell.undecided,
                    "–" if cell.rate is None else f"{100 * cell.rate:.1f}",
                    _then(cell),
                    shown,
                )
            )
            told.append(cell.as_json() | {"corrected": None if better is None else _as_json(better)})
        print_table(
            f"{one.scope.criterion.name} ({one.scope.criterion.asks}), judged by {judges[judge]}",
            columns,
            rows,
            to_stderr=to_stderr,
        )
    return told


def _print_passports(judged: Sequence[Judging], *, to_stderr: bool) -> list[dict[str, object]]:
    from ragbed.analysis.judging.validation import TRUSTED
    from ragbed.cli.console import print_table
    from ragbed.runs.display_names import short_names

    columns = (
        "judge",
        "criterion",
        "lang",
        "labels",
        "undecided",
        "agreed %",
        "kappa",
        "AC1",
        "sensitivity %",
        "specificity %",
    )
    rows, told = [], []
    names = short_names(judge for one in judged for judge in one.judgements)
    for passport in (passport for one in judged for passport in one.passports):
        found = passport.agreement
        rows.append(
            (
                names[passport.judge],
                passport.criterion,
                passport.lang,
                found.n,
                passport.undecided,
                _percent(found.agreed),
                _plain(found.kappa),
                _plain(found.ac1),
                _percent(found.sensitivity),
                _percent(found.specificity),
            )
        )
        told.append(
            {
                "judge": passport.judge,
                "criterion": passport.criterion,
                "lang": passport.lang,
                "undecided": passport.undecided,
                "trusted": passport.is_trusted,
            }
            | {name: _finite(value) for name, value in found._asdict().items()}
        )
    title = f"Agreement with people (kappa of {TRUSTED} or more: rates may stand uncorrected)"
    print_table(title, columns, rows, to_stderr=to_stderr)
    return told


def _print_judges(judged: Sequence[Judging], *, to_stderr: bool) -> list[dict[str, object]]:
    """Print how often two judges agree."""
    from ragbed.cli.console import print_table
    from ragbed.runs.display_names import short_names

    told: list[dict[str, object]] = []
    counts = ("judged", "decided", "agreed")
    for one in judged:
        for first, second in combinations(one.judgements, 2):
            pairs = [
                (verdict, one.judgements[second][name])
                for name, verdict in one.judgements[first].items()
                if name in one.judgements[second]
            ]
            decided = [pair for pair in pairs if all(isinstance(verdict, bool) for verdict in pair)]
            told.append(
                {
                    "criterion": one.scope.criterion.name,
                    "judges": [first, second],
                    "judged": len(pairs),
                    "decided": len(decided),
                    "agreed": sum(a == b for a, b in decided),
                }
            )
    if told:
        names = short_names(judge for one in judged for judge in one.judgements)
        rows = [
            (row["criterion"], " and ".join(map(names.__getitem__, row["judges"])), *map(row.get, counts))  # type: ignore[call-overload]
            for row in told
        ]
        print_table(
            "Two judges", ("criterion", "judges", "judged by both", "decided", "agreed"), rows, to_stderr=to_stderr
        )
    return told


def _tell_labels(labels: Labels) -> dict[str, object]:
    from ragbed.cli.console import say
    from ragbed.text import counted

    for reason, count in labels.left_out.items():
        say(f"{counted(count, 'label')} left out: {reason}.")
    return {"used": len(labels.agreed), "left_out": dict(labels.left_out)}


def _units(one: Judging) -> list[LabelledUnit]:
    from ragbed.analysis.judging.labels import LabelledUnit

    name = one.scope.criterion.name
    return [LabelledUnit(name, stored.model, stored.case.case, stored.repeat) for stored in one.replies]


def _describe(condition: Condition, model: str) -> tuple[str, ...]:
    noise = "–" if condition.noise is None else f"{condition.noise:.3g}"
    arm = "" if condition.arm == "related" else f" ({condition.arm}, {condition.k} documents)"
    true = f", {condition.correct:.3g} true" if condition.correct else ""
    return (model, condition.data, f"{condition.testbed}{arm}{true}", condition.lang, noise)


def _then(cell: JudgedCell) -> str:
    return f"{100 * cell.then / cell.yes:.1f}" if cell.then is not None and cell.yes else "–"


def _as_json(rate: CorrectedRate) -> dict[str, object]:
    value = rate.corrected
    return {"rate": _finite(value.rate), "power": value.power, "labelled": value.labelled, "check": _finite(rate.check)}


def _finite(value: object) -> object:
    """Plain values, and null for what cannot be had: JSON knows no NaN."""
    if isinstance(value, tuple):
        return [_finite(part) for part in value]
    if isinstance(value, float):  # numpy's too, which the encoder does not know
        return float(value) if math.isfinite(value) else None
    return value


def _percent(interval: Interval | None) -> str:
    if interval is None:
        return "–"
    return f"{100 * interval.value:.1f} [{100 * interval.low:.1f}, {100 * interval.high:.1f}]"


def _plain(interval: Interval) -> str:
    return f"{interval.value:.2f} [{interval.low:.2f}, {interval.high:.2f}]"
