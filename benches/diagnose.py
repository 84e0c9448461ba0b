"""Measure how accurately and how fast errors are diagnosed, using stored responses of real models.

Using real responses stored with the tests, it prints the precision and recall of every type against labels and against
the perturbations of synthetic data, the agreement between the two labelling passes, and the time for 10,000 trials.
`--run RUN --world FILE` measures minimal pairs in your own run: perturbed items with a wrong answer whose unperturbed
counterpart has a right one.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from ragbed.analysis.diagnosis.classify import diagnose_trial
from ragbed.analysis.diagnosis.context import is_right
from ragbed.analysis.diagnosis.records import Diagnosis
from ragbed.analysis.statistics.rates import wilson
from ragbed.data import Dataset
from ragbed.runs.store import StoredResult, open_store
from ragbed.scoring.robust.verdict import judge
from tests.analysis.diagnosis.trials import (
    CAUSES,
    TWINS,
    Found,
    compare,
    compare_twins,
    count,
    diagnose_line,
    kappa,
    read_labelled,
    read_twins,
)

TRIALS = 10_000
SECONDS = 60  # maximum processor time for 10,000 wrong trials


def main() -> None:
    """Print all figures; exit with code 1 if the diagnosis takes too long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--run", type=Path, help="a run of minimal pairs")
    parser.add_argument("--world", type=Path, action="append", default=[], help="its data; repeatable")
    chosen = parser.parse_args()
    if chosen.run is not None:
        measure_run(chosen.run, chosen.world)
        return
    for part in ("dev", "held", "test", "rare"):
        pairs = list(compare(read_labelled(part)))
        exact = sum(true == found for true, found in pairs)
        print(f"\nlabelled, {part}: {exact} of {len(pairs)} with exactly the right types")
        tell(pairs)
    measure_parts()
    lines = [line for part in ("dev", "held") for line in read_labelled(part)]
    print(f"\ntwo passes over {len(lines)} errors: kappa")
    for name in [f"E{number}" for number in range(1, 13)]:
        if (value := kappa(lines, name)) is not None:
            labelled = sum(name in line["types"] for line in lines)
            print(f"  {name:4}{labelled:4} labelled  {value:.2f}")
    for which in TWINS:
        measure_twins(which)
    sys.exit(not measure_speed())


def measure_parts() -> None:
    """Measure merging and misalignment errors among all integration errors that are labelled for them."""
    lines = [line for part in ("parts", "rare") for line in read_labelled(part) if line["testbed"] == "integration"]
    kinds = frozenset({"E4", "E6"})
    print(f"\nE4 and E6, {len(lines)} integration errors")
    tell(Found(pair.true & kinds, pair.found & kinds) for pair in compare(lines))


def measure_twins(which: str) -> None:
    """Measure the stored minimal pairs: all of them, and those whose response contains the planted value."""
    lines = read_twins(which)
    for name, some in (("all", lines), ("with the planted value", [line for line in lines if line["planted"]])):
        print(f"\nminimal pairs, {which}, {name}: {len(some)}")
        tell(compare_twins(some))
    spread: dict[str, list[str]] = {}
    for line in lines:
        spread.setdefault(line["dial"], []).append("+".join((diagnose_line(line) or _never()).types) or "unclassified")
    for dial, found in spread.items():
        print(f"  {dial:14}", {name: found.count(name) for name in sorted(set(found))})


def measure_run(folder: Path, worlds: Iterable[Path]) -> None:
    """Measure the minimal pairs of a run."""
    items = {(path.stem, item.id): item for path in worlds for item in Dataset(path.stem, path).items()}
    with open_store(folder, create=False) as store:
        results = [one for one in store.results() if one.case.documents]
    right = {_key(one) for one in results if is_right(one, judge(one.case, one.completion.reply or ""))}
    pairs = []
    for one in results:
        item = items[one.case.data, one.case.item]
        if item.dial in CAUSES and _key(one) not in right and _key(one, item.twin) in right:
            pairs.append(_pair(str(item.dial), (diagnose_trial(one, None) or _never()).types))
    print(f"minimal pairs in {folder}: {len(pairs)}")
    tell(pairs)


def measure_speed() -> bool:
    """Measure the time for wrong trials without the benefit of caches."""
    lines = [line for which in TWINS for line in read_twins(which)]
    lines += [line for part in ("dev", "held", "test") for line in read_labelled(part)]
    start = time.process_time()
    for number in range(TRIALS):
        line = lines[number % len(lines)]
        diagnose_line(
            line | {"question": f"{line['question']} ", "reply": f"{line['reply']} {'·' * (number // len(lines))}"}
        )
    took = time.process_time() - start
    print(f"\n{TRIALS:,} wrong trials: {took:.1f} s of processor time")
    return took <= SECONDS


def tell(pairs: Iterable[Found]) -> None:
    """Print one line per type."""
    for name, counts in count(pairs).items():
        shares = []
        for metric, n in (("precision", counts.hit + counts.false), ("recall", counts.hit + counts.missed)):
            rate = wilson(counts.hit, n) if n else None
            shown = "–" if rate is None else f"{rate.value:.2f} [{rate.low:.2f}, {rate.high:.2f}]"
            shares.append(f"{metric} {counts.hit}/{n} {shown}")
        print(f"  {name:4}", "   ".join(shares))


def _pair(dial: str, types: Iterable[str]) -> Found:
    cause = CAUSES[dial]
    return Found(frozenset({cause} if cause else ()), frozenset(types) & {"E1", "E2", "E3"})


def _key(one: StoredResult, item: str | None = None) -> tuple[str, str, str, int]:
    return one.model, one.case.data, item or one.case.item, one.repeat


def _never() -> Diagnosis:
    raise AssertionError("a wrong response has a diagnosis")
