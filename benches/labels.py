"""Measure how well labels agree with RGB's, and which planted defects are found.

    python -m benches labels [RGB_DIR]

Labels are compared on RGB's files if they are available; defects are planted in synthetic news and in RGB's files.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Iterable
from pathlib import Path

from benches import RGB_DIR
from ragbed.analysis.statistics.rates import wilson
from ragbed.builder.relabel import WAYS, relabel
from ragbed.data import Dataset
from ragbed.schema import Item, Lang
from ragbed.synth import SynthSpec, make_items
from tests.builder.planting import PLANTERS, count_caught, false_alarms

SEED = 7  # seed for the synthetic news; the tests use the bundled edition, which has a different seed
ITEMS = {"base": 60, "int": 40, "fact": 40}
LANGS: tuple[Lang, ...] = ("en", "zh")
RGB_KIND = {"zh_refine": "base", "en_fact": "fact", "zh_int": "int"}


def _synthetic(lang: Lang, kind: str) -> list[Item]:
    recipe = SynthSpec(seed=SEED, lang=lang)
    return list(make_items(recipe, kind, 0, ITEMS[kind]))


def _row(name: str, hits: int, of: int) -> str:
    low, high = wilson(hits, of)[1:]
    return f"| {name} | {of:,} | {hits:,} | {hits / of:.4f} | {low:.3f}–{high:.3f} |"


def _print_agreement(folder: Path) -> None:
    print("T1: published labels found again\n\n| File | Rule | Published as | Agree | Of |\n|---|---|---|---|---|")
    for name in RGB_KIND:
        sums, _ = relabel(Dataset(name, folder / f"{name}.json").items())
        for row in sums.rows:
            print(f"| {name} | {WAYS[row.way]} | {row.published} | {row.agree:,} | {row.of:,} |")
        print(f"| {name} | items rebuilt as published | | {sums.rebuilt} | {sums.items} |")


def _print_planted(where: str, items: dict[str, list[Item]]) -> None:
    print(f"\nT2, {where}\n\n| Defect | Planted | Caught | Recall | 95 % |\n|---|---|---|---|---|")
    for name, (kind, planter) in PLANTERS.items():
        if kind in items:
            print(_row(name, *count_caught(planter, items[kind])))
    print("\n| False alarm | Looked at | Alarms | Rate | 95 % |\n|---|---|---|---|---|")
    clean: Iterable[Item] = [item for kind in ("base", "fact") for item in items.get(kind, [])]
    for name, (alarms, of) in false_alarms(clean).items():
        if of:
            print(_row(name, alarms, of))


def main() -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # show the progress of a long run
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=RGB_DIR, help="folder of RGB's files [default: %(default)s]"
    )
    folder: Path = parser.parse_args().folder
    if folder.is_dir():
        _print_agreement(folder)
    for lang in LANGS:
        _print_planted(f"synthetic news, {lang}, seed {SEED}", {kind: _synthetic(lang, kind) for kind in ITEMS})
    if folder.is_dir():
        for name, kind in RGB_KIND.items():
            _print_planted(name, {kind: list(Dataset(name, folder / f"{name}.json").items())})
