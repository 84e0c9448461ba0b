"""Validate the robust scorer on labelled responses, with substring matching and the original code as baselines.

    python -m benches scorer [--set 3] [--held-out]
    python -m benches scorer --ablate

`tests/scoring/validation/README.md` describes all files. Rows that are held out are neither read nor scored without
`--held-out`. `--ablate` prints how many verdicts on all labelled responses and on a sample of the study's synthetic
responses change without each family of rules, and how many more responses are then scored wrongly.
"""

from __future__ import annotations

import argparse
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from itertools import islice
from multiprocessing import get_context
from typing import Any, NamedTuple, cast

from benches import ROOT
from benches.scorer_rows import ORDINARY, Part, ValidationRow, read_final_labels, read_rows
from ragbed.analysis.statistics.rates import wilson
from ragbed.schema import Case
from ragbed.scoring import score
from ragbed.scoring.value import Value

FOLDER = ROOT / "tests" / "scoring" / "validation"
LABELS = ("correct", "refused", "flagged")
SCORERS = {"robust": "", "substring matching": "paper.", "original code": "code."}
_SAMPLED = 10  # one in so many of the study's responses is scored by `--ablate`
_NEVER = re.compile("(?!)")
# For each family of rules, the names in `ragbed.scoring.robust` that disable it, and their values.
FAMILIES: dict[str, dict[str, object]] = {
    "other candidates in the response": {"reader.find_candidates": lambda *_: []},
    "order of the parts of an answer": {"verdict.find_aligned": lambda *given: [bool(each) for each in given[3]]},
    "Chinese numerals": {"quantities._in_chinese": lambda _: []},
    "surnames": {"gold.find_surname": lambda *_: None},
    "numbers in English words": {"quantities._in_english": lambda _: []},
    "other spellings of an answer": {"gold.spellings": lambda _: []},
    "conversion of units": {"match._is_measure": lambda _: False},
    "denials before an answer": {"assertion._DENIED_BEFORE": _NEVER},
    "phrases with other words between": {"gold.with_gaps": lambda *_: None},
    "times of day": {"gold.read_time": lambda *_: frozenset(), "match.find_times": lambda _: []},
    "an answer inside another": {"reader.drop_contained": lambda found: found},
    "both answers in the same sentence": {"decision._gives_both": lambda _: False},
    "quantities in two units": {"match._sums": lambda *_: [], "gold.as_sum": lambda *_: None},
    "copied documents": {"verdict._MIN_COPIED_LENGTH": 10**9},
    "units that are left out": {"match._are_compatible": lambda found, wanted, _: found == wanted},
    "part of a longer name": {"reader.is_part_of_name": lambda *_: False},
    "minus signs": {"quantities._MINUS": _NEVER},
    "percentages without a sign": {"gold._ASKS_PERCENTAGE": _NEVER},
    "one end of a range": {"match.find_partial": lambda *_: set()},
    "no as a negation": {"reader.only_negates": lambda *_: False, "assertion.only_negates": lambda *_: False},
    "answers that are ordinary words": {"reader.is_ordinary_word": lambda *_: False},
    "short answers without words of refusals": {"verdict._MAX_PLAIN_TOKENS": -1},
    "LaTeX": {"verdict._hide_latex": lambda reply: reply},
    "HTML entities and JSON escapes": {"verdict._ENCODED": _NEVER},
}


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
    parser.add_argument("--set", type=int, choices=(1, 2, 3, 4), default=1, help="validation set to score")
    parser.add_argument("--held-out", action="store_true", help="score the held-out rows instead of the rest")
    parser.add_argument("--ablate", action="store_true", help="count the verdicts that change without each family")
    options = parser.parse_args()
    if options.ablate:
        _print_ablations()
        return 0
    part = cast("Part", ("held-out" if options.held_out else "dev") + (f"-{options.set}" if options.set > 1 else ""))
    rows, final = read_rows(FOLDER, part), read_final_labels(FOLDER, part)
    missing = [row.id for row in rows if row.id not in final]
    if missing or not rows:
        print(f"{len(missing)} of {len(rows)} rows of part {part} have no label, e.g. {missing[:3]}")
        return 1
    judged = [Judged(row, final[row.id], score(row.case(), row.response)) for row in rows]
    for lang in ("en", "zh"):
        _print_results(lang, [each for each in judged if each.row.lang == lang])
    _print_results("both languages", judged)
    return 0


def _print_results(title: str, judged: Sequence[Judged]) -> None:
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


class _Row(NamedTuple):
    """A response to score without a family; the study's responses have no labels."""

    case: Case
    reply: str
    labels: dict[str, bool]


_ROWS: list[_Row] = []  # shared with the processes that score


def _print_ablations() -> None:
    from scripts.record.verdicts import read_rows_of_all_sets  # noqa: PLC0415 - this module imports the rows of benches
    from study.cases import match_cases, open_data, to_completion  # noqa: PLC0415 - only for this table
    from study.recordings import read_recording, recording_paths  # noqa: PLC0415

    _ROWS.extend(_Row(case, reply, labels) for _, case, reply, labels in read_rows_of_all_sets())
    labelled = len(_ROWS)
    with open_data(None) as folders:
        for recording in map(read_recording, recording_paths()):
            if folder := folders.find(recording):
                for case, trial in islice(match_cases(recording, folder), 0, None, _SAMPLED):
                    if trial.outcome == "ok":
                        _ROWS.append(_Row(case, to_completion(case, trial).reply or "", {}))
    with get_context("fork").Pool(maxtasksperchild=1) as pool:  # each process patches the scorer before it scores
        before, *results = pool.map(_score_without, ["", *FAMILIES], chunksize=1)
    total = len(_ROWS) - labelled
    print(f"| Family | verdicts changed, of {labelled:,} labelled | more errors | changed, of {total:,} of the study |")
    print("|---|---|---|---|")
    for name, after in zip(FAMILIES, results, strict=True):
        changed = Counter(at < labelled for at in range(len(_ROWS)) if before[at] != after[at])
        errors = [sum(map(_is_wrong, _ROWS, values)) for values in (before, after)]
        share, of_study = changed[True] / labelled, changed[False] / total
        print(f"| {name} | {changed[True]} ({share:.2%}) | {errors[1] - errors[0]:+} | {of_study:.2%} |")


def _score_without(family: str) -> list[tuple[Value, ...]]:
    for name, value in FAMILIES.get(family, {}).items():
        module, attribute = name.split(".")
        patched: Any = import_module(f"ragbed.scoring.robust.{module}")
        setattr(patched, attribute, value)
    found = [score(row.case, row.reply) for row in _ROWS]
    return [tuple(values[name] for name in (*LABELS, "misled", "verdict")) for values in found]


def _is_wrong(row: _Row, values: tuple[Value, ...]) -> bool:
    names = (*LABELS, "misled")
    return any(
        bool(value) != row.labels[name] for name, value in zip(names, values, strict=False) if name in row.labels
    )
