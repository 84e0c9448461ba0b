"""Validate the robust scorer on labelled responses, with substring matching and the original code as baselines.

    python -m benches scorer [--set 3] [--held-out]
    python -m benches scorer --ablate

`tests/scoring/validation/README.md` describes all files. Rows that are held out are neither read nor scored without
`--held-out`. `--ablate` prints how many verdicts on all labelled responses and on a sample of the study's synthetic
responses change without each family of rules, and how many more are then scored wrongly. Only the responses for which
a rule of the family has an effect are scored again.
"""

from __future__ import annotations

import argparse
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from itertools import groupby, islice
from multiprocessing import get_context
from typing import Any, NamedTuple, cast

from benches.scorer_rows import LABELS, LabelledRow, Part, read_all_sets, read_part
from ragbed.analysis.statistics.rates import wilson
from ragbed.scoring import score
from ragbed.scoring.robust import certainty, gold
from ragbed.scoring.value import Value

SCORERS = {"robust": "", "substring matching": "paper.", "original code": "code."}
_NAMES = (*LABELS, "misled")
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


class Scored(NamedTuple):
    """A labelled row with the values of all scorers."""

    row: LabelledRow
    values: dict[str, Value]

    @property
    def is_unsure(self) -> bool:
        """Whether the robust scorer does not decide the response."""
        return self.values["verdict"] == "unsure"

    def is_wrong_if_forced(self) -> bool:
        """Return whether the robust scorer is wrong if it must decide."""
        values = self.values
        if self.is_unsure:
            values = values | {"correct": certainty(self.row.case, self.row.reply)["correct"] > 0.5}
        return self.row.is_wrong(values)


def main() -> int:
    """Score the labelled rows; return 1 if there are none."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--set", type=int, choices=range(1, 7), default=1, help="validation set to score")
    parser.add_argument("--held-out", action="store_true", help="score the held-out rows instead of the rest")
    parser.add_argument("--ablate", action="store_true", help="count the verdicts that change without each family")
    options = parser.parse_args()
    if options.ablate:
        _print_ablations()
        return 0
    part = cast("Part", ("held-out" if options.held_out else "dev") + (f"-{options.set}" if options.set > 1 else ""))
    scored = [Scored(row, score(row.case, row.reply)) for row in read_part(part)]
    for title in ("en", "zh", "both languages"):
        _print_results(title, [each for each in scored if title in (each.row.case.lang, "both languages")])
    return not scored


def _print_results(title: str, scored: Sequence[Scored]) -> None:
    print(f"\n{title}: errors in any of {', '.join(LABELS)}\n\n| Stratum | n | unsure | {' | '.join(SCORERS)} |")
    print("|---" * (3 + len(SCORERS)) + "|")
    for stratum in sorted({each.row.stratum for each in scored}):
        rows = [each for each in scored if each.row.stratum == stratum]
        errors = [sum(each.row.is_wrong(each.values, prefix=prefix) for each in rows) for prefix in SCORERS.values()]
        print(f"| {stratum} | {len(rows)} | {sum(each.is_unsure for each in rows)} | {' | '.join(map(str, errors))} |")
    right = [each for each in scored if each.row.labels["correct"]]
    wrong = [each for each in scored if not each.row.labels["correct"]]
    ordinary = [each for each in scored if each.row.is_ordinary]
    print(f"\n| Pooled rate | n | {' | '.join(SCORERS)} |\n" + "|---" * (2 + len(SCORERS)) + "|")
    _print_rate("false credit", wrong, ("correct",))
    _print_rate("missed credit", right, ("correct",))
    _print_rate("refusal and flag errors", scored, ("refused", "flagged"))
    _print_rate("errors on ordinary responses", ordinary, LABELS)
    print("\n| Responses | n | unsure | errors among decided | errors of a forced decision that are unsure |")
    print("|---|---|---|---|---|")
    for name, is_ordinary in (("ordinary", True), ("hard", False)):
        rows = [each for each in scored if each.row.is_ordinary == is_ordinary]
        decided = [each for each in rows if not each.is_unsure]
        forced = [each for each in rows if each.is_wrong_if_forced()]
        cells = (
            _share(len(rows) - len(decided), len(rows)),
            _share(sum(each.row.is_wrong(each.values) for each in decided), len(decided)),
            _share(sum(each.is_unsure for each in forced), len(forced)),
        )
        print(f"| {name} | {len(rows)} | {' | '.join(cells)} |")


def _print_rate(name: str, rows: Sequence[Scored], names: Sequence[str]) -> None:
    errors = [sum(each.row.is_wrong(each.values, names, prefix) for each in rows) for prefix in SCORERS.values()]
    print(f"| {name} | {len(rows)} | {' | '.join(_share(count, len(rows)) for count in errors)} |")


def _share(count: int, total: int) -> str:
    return f"{count} ({count / total:.1%}, at most {wilson(count, total).high:.1%})" if total else "–"


_ROWS: list[LabelledRow] = []  # shared with the processes that score; the study's responses have no labels
_AFFECTED: dict[str, list[int]] = defaultdict(list)  # for each family, the rows on which it has an effect


class _Recorder:
    """Stands for a function or a pattern, and notes whether its replacement would have another result."""

    def __init__(self, family: str, noted: set[str], replacement: Any, original: Any) -> None:  # noqa: ANN401
        self._family, self._noted, self._replacement, self._original = family, noted, replacement, original

    def __call__(self, *given: object) -> object:
        found = self._original(*given)
        found = list(found) if isinstance(found, Iterator) else found
        if found != self._replacement(*given):
            self._noted.add(self._family)
        return found

    def __getattr__(self, method: str) -> Callable[..., object]:
        def search(*given: object) -> object:
            found = getattr(self._original, method)(*given)
            found = list(found) if isinstance(found, Iterator) else found
            if found and method != "sub":
                self._noted.add(self._family)
            return found

        return search


def _print_ablations() -> None:
    from study.cases import match_cases, open_data, to_completion  # noqa: PLC0415 - only for this table
    from study.recordings import read_recording, recording_paths  # noqa: PLC0415

    _ROWS.extend(read_all_sets())
    labelled = len(_ROWS)
    with open_data(None) as folders:
        for recording in map(read_recording, recording_paths()):
            if folder := folders.find(recording):
                for case, trial in islice(match_cases(recording, folder), 0, None, _SAMPLED):
                    if trial.outcome == "ok":
                        _ROWS.append(LabelledRow("study", "", case, to_completion(case, trial).reply or "", {}))
    context = get_context("fork")
    with context.Pool(1) as pool:  # another process patches the scorer
        before, affected = pool.apply(_score_and_record)
    _AFFECTED.update(affected)
    with context.Pool(maxtasksperchild=1) as pool:
        results = pool.map(_score_without, FAMILIES, chunksize=1)
    total = len(_ROWS) - labelled
    print(f"| Family | verdicts changed, of {labelled:,} labelled | more errors | changed, of {total:,} of the study |")
    print("|---|---|---|---|")
    for name, after in zip(FAMILIES, results, strict=True):
        changed = [at for at, values in after.items() if values != before[at]]
        own = sum(at < labelled for at in changed)
        errors = sum(_ROWS[at].is_wrong(after[at], _NAMES) - _ROWS[at].is_wrong(before[at], _NAMES) for at in changed)
        print(f"| {name} | {own} ({own / labelled:.2%}) | {errors:+} | {(len(changed) - own) / total:.2%} |")


def _score_and_record() -> tuple[list[dict[str, Value]], dict[str, list[int]]]:
    """Return the scores of all rows, and for each family the rows whose scores can change without it."""
    noted: set[str] = set()
    affected: dict[str, list[int]] = {family: [] for family in FAMILIES}
    for family, replacements in FAMILIES.items():
        for name, value in replacements.items():
            if isinstance(value, int):  # a limit can affect any row
                affected[family] = list(range(len(_ROWS)))
            else:
                module, attribute = _find(name)
                setattr(module, attribute, _Recorder(family, noted, value, getattr(module, attribute)))
    before: list[dict[str, Value]] = [{}] * len(_ROWS)
    questions = [row.case.question for row in _ROWS]
    for _, group in groupby(sorted(range(len(_ROWS)), key=questions.__getitem__), key=questions.__getitem__):
        numbers = list(group)
        noted.clear()
        _clear_caches()  # so that the answers to this question are read again
        for at in numbers:
            before[at] = _score(at)
        for family in noted:
            affected[family] += numbers
    return before, affected


def _score_without(family: str) -> dict[int, dict[str, Value]]:
    for name, value in FAMILIES[family].items():
        setattr(*_find(name), value)
    _clear_caches()
    return {at: _score(at) for at in _AFFECTED[family]}


def _find(name: str) -> tuple[Any, str]:
    """Return the module and the attribute with this name."""
    module, _, attribute = name.partition(".")
    return import_module(f"ragbed.scoring.robust.{module}"), attribute


def _clear_caches() -> None:
    for function in (gold.prepare, gold._read_answers, gold._slot, gold.read_question):
        function.cache_clear()


def _score(at: int) -> dict[str, Value]:
    values = score(_ROWS[at].case, _ROWS[at].reply)
    return {name: values[name] for name in (*_NAMES, "verdict")}
