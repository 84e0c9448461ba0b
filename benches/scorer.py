"""Validate the robust scorer on labelled responses, with substring matching and the original code as baselines.

    python -m benches scorer [--folder FOLDER] [--set 3] [--held-out]

`tests/scoring/validation/README.md` describes all files. Rows that are held out are neither read nor scored without
`--held-out`.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from benches import ROOT
from benches.scorer_rows import (
    ORDINARY,
    Part,
    ValidationRow,
    read_final_labels,
    read_labels,
    read_rows,
)
from ragbed.analysis.statistics.labels import agreement
from ragbed.analysis.statistics.rates import wilson
from ragbed.scoring import score
from ragbed.scoring.value import Value

FOLDER = ROOT / "tests" / "scoring" / "validation"
LABELS = ("correct", "refused", "flagged")
SCORERS = {"robust": "", "substring matching": "paper.", "original code": "code."}


class Judged(NamedTuple):
    """A row with its adjudicated labels and the values of all scorers."""

    row: ValidationRow
    labels: dict[str, bool]
    values: dict[str, Value]

    def is_wrong(self, prefix: str, names: Iterable[str] = LABELS) -> bool:
        return any(bool(self.values[f"{prefix}{name}"]) != self.labels[name] for name in names)


def main() -> int:
    """Score the labelled rows; return 1 if a row has no label."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, default=FOLDER, help="folder of the validation set")
    parser.add_argument("--set", type=int, choices=(1, 2, 3, 4), default=1, help="validation set to score")
    parser.add_argument("--held-out", action="store_true", help="score the held-out rows instead of the rest")
    options = parser.parse_args()
    part = cast("Part", ("held-out" if options.held_out else "dev") + (f"-{options.set}" if options.set > 1 else ""))
    rows, final = read_rows(options.folder, part), read_final_labels(options.folder, part)
    missing = [row.id for row in rows if row.id not in final]
    if missing or not rows:
        print(f"{len(missing)} of {len(rows)} rows of part {part} have no label, e.g. {missing[:3]}")
        return 1
    judged = [Judged(row, final[row.id], score(row.case(), row.response)) for row in rows]
    _print_agreement(rows, {name: read_labels(options.folder, name, part) for name in ("a", "b")})
    for lang in ("en", "zh"):
        _print_results(lang, [each for each in judged if each.row.lang == lang])
    _print_results("both languages", judged)
    return 0


def _print_agreement(rows: Sequence[ValidationRow], labels: dict[str, dict[str, dict[str, bool]]]) -> None:
    print("| Label | n | agreement of the two labellers | κ |\n|---|---|---|---|")
    for name in LABELS:
        pairs = [(labels["a"][row.id][name], labels["b"][row.id][name]) for row in rows if row.id in labels["b"]]
        if pairs:
            same = sum(first == second for first, second in pairs) / len(pairs)
            print(f"| {name} | {len(pairs)} | {same:.3f} | {_kappa(pairs):.3f} |")


def _kappa(pairs: Sequence[tuple[bool, bool]]) -> float:
    first, second = np.array(pairs).T
    return agreement(second, first, range(len(pairs))).kappa.value


def _print_results(title: str, judged: Sequence[Judged]) -> None:
    if not judged:
        return
    print(f"\n{title}: errors in any of {', '.join(LABELS)}\n\n| Stratum | n | unsure | {' | '.join(SCORERS)} |")
    print("|---" * (3 + len(SCORERS)) + "|")
    for stratum in sorted({each.row.stratum for each in judged}):
        rows = [each for each in judged if each.row.stratum == stratum]
        errors = [sum(each.is_wrong(prefix) for each in rows) for prefix in SCORERS.values()]
        print(f"| {stratum} | {len(rows)} | {_unsure(rows)} | {' | '.join(map(str, errors))} |")
    wrong = [each for each in judged if not each.labels["correct"]]
    right = [each for each in judged if each.labels["correct"]]
    ordinary = [each for each in judged if each.row.stratum in ORDINARY]
    print(f"\n| Pooled rate | n | {' | '.join(SCORERS)} |\n" + "|---" * (2 + len(SCORERS)) + "|")
    _print_rate("false credit", wrong, lambda each, prefix: bool(each.values[f"{prefix}correct"]))
    _print_rate("missed credit", right, lambda each, prefix: not each.values[f"{prefix}correct"])
    _print_rate("refusal and flag errors", judged, lambda each, prefix: each.is_wrong(prefix, ("refused", "flagged")))
    _print_rate("errors on ordinary responses", ordinary, lambda each, prefix: each.is_wrong(prefix))
    print(f"\nunsure: {_unsure(judged)} of {len(judged)}; on ordinary responses {_unsure(ordinary)} of {len(ordinary)}")


def _print_rate(name: str, rows: Sequence[Judged], is_error: Callable[[Judged, str], bool]) -> None:
    cells = []
    for prefix in SCORERS.values():
        errors = sum(is_error(each, prefix) for each in rows)
        cells.append(
            f"{errors} ({errors / len(rows):.1%}, at most {wilson(errors, len(rows)).high:.1%})" if rows else "–"
        )
    print(f"| {name} | {len(rows)} | {' | '.join(cells)} |")


def _unsure(rows: Sequence[Judged]) -> int:
    return sum(each.values["verdict"] == "unsure" for each in rows)
