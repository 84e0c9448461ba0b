"""Measure how many bad questions a build rejects, and how many good ones, with a scripted model.

    python -m benches build_oracle [--show]

For 40 policy pages and 40 pages of synthetic news per language, the scripted model of tests/builder/oracle.py returns
good and bad questions. When it checks a question, it answers truthfully: whether the question is clear, what the page
says, and whether the page states exactly that. The result shows whether the rules and the pipeline use these answers
rightly, not how well a real model checks (see `build_items`). Exit code 1 if less than 97 % of the bad questions or
more than 5 % of the good ones are rejected.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path

from ragbed.analysis.statistics.rates import wilson
from tests.builder.invented_pages import LANGS, policy_pages, synthetic_pages
from tests.builder.oracle import Outcome, build_planned

BAD, GOOD = 0.97, 0.05
_PAGES = 40


def main() -> None:
    """Print the rejected shares by kind; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print every wrong decision with its reason")
    show = parser.parse_args().show
    outcomes: list[Outcome] = []
    print("| kind | language | n | rejected | by |\n|---|---|---|---|---|")
    for lang in LANGS:
        with tempfile.TemporaryDirectory() as folder:
            pages = [*policy_pages(lang), *synthetic_pages(lang, _PAGES)]
            found = build_planned(Path(folder), pages, lang)
        by_kind: defaultdict[str, list[str]] = defaultdict(list)
        for planned, reason in found:
            by_kind[planned.kind].append(reason)
            if show and bool(reason) == (planned.kind == "good"):
                print(f"  {planned.kind}: {planned.question!r} ({planned.answer}): {reason or 'passed'}")
        for kind, reasons in by_kind.items():
            listed = ", ".join(f"{name} {count}" for name, count in Counter(filter(None, reasons)).most_common(4))
            print(f"| {kind} | {lang} | {len(reasons)} | {sum(map(bool, reasons))} | {listed} |")
        outcomes += found
    bad = [bool(one.reason) for one in outcomes if one.planned.kind != "good"]
    good = [bool(one.reason) for one in outcomes if one.planned.kind == "good"]
    for name, rejected in (("bad", bad), ("good", good)):
        share, low, high = wilson(sum(rejected), len(rejected))
        print(f"{name}: {sum(rejected)} of {len(rejected)} rejected, {share:.1%} ({low:.1%}–{high:.1%})")
    is_met = sum(bad) >= BAD * len(bad) and sum(good) <= GOOD * len(good)
    print(f"targets: bad ≥ {BAD:.0%}, good ≤ {GOOD:.0%}: {'met' if is_met else 'missed'}")
    sys.exit(not is_met)


if __name__ == "__main__":
    main()
