"""Measure how varied, unguessable and fast to generate the synthetic news is (docs/explanation/synthetic-data.md).

    python -m benches synth_quality [--items 10000] [--speed-items 1000000] [--seed 7] [--tokens 85] [--lang zh]

Without options, a small sample takes half a minute; the figures in the data card come from the options above. Speed is
always measured with documents of 80 tokens. Exit code 1 if a figure misses its target.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from benches import check_figure
from ragbed.data import Dataset
from ragbed.models.lexical import answer_lexically
from ragbed.schema import Lang
from ragbed.synth import SynthSpec, make_items, write_dataset
from ragbed.testbeds.selection import choose_testbeds, generate_cases
from ragbed.testbeds.settings import Settings
from ragbed.text import holds_slot
from tests.synth.text_quality import measure_giveaway, measure_openings, measure_overlap

SEED = 7
LANGS: tuple[Lang, ...] = ("en", "zh")
GIVEAWAY_ITEMS, LEXICAL_ITEMS = 1500, 1000
_SPEED = """
import resource, sys
from pathlib import Path
from ragbed.synth import SynthSpec, make_items, write_dataset

if __name__ == "__main__":
    spec = SynthSpec({seed}, {lang!r}, 5, 5, tokens=80, perturbations=())
    write_dataset((spec,), {{"base": {count}}}, Path(sys.argv[1]), workers=2)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    lengths = [p.dials["length_tokens"] for item in make_items(spec, "base", 0, 100) for p in item.passages]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    print(*(each.ru_maxrss for each in used), sum(lengths) // len(lengths), round(cpu))
"""


def main() -> None:
    """Measure all figures; exit with code 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=500, help="items for the measures of the text")
    parser.add_argument("--speed-items", type=int, default=2000, help="items for the measure of speed")
    parser.add_argument("--lang", choices=LANGS, help="a single language")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the data")
    parser.add_argument(
        "--tokens", type=int, default=SynthSpec(SEED, "en").tokens, help="approximate length of a document"
    )
    options = parser.parse_args()
    passed: list[bool] = []
    for lang in (options.lang,) if options.lang else LANGS:
        spec = SynthSpec(options.seed, lang, tokens=options.tokens)
        passed += measure_text(spec, options.items)
        passed += [measure_lexical(spec), *measure_speed(lang, options.speed_items)]
    sys.exit(not all(passed))


def measure_text(spec: SynthSpec, count: int) -> list[bool]:
    """Measure diversity, and whether a document reveals its relevance label."""
    lang = spec.lang
    items = list(make_items(spec, "base", 0, count))
    overlap = measure_overlap(items)
    share, words = measure_openings(items)
    auc = measure_giveaway(items[:GIVEAWAY_ITEMS])
    integration = list(make_items(spec, "int", 0, count // 10))
    return [
        check_figure(
            f"{lang}: pairs that share over 60 % of 8-grams in {overlap.documents:,} documents", len(overlap.pairs), 0
        ),
        check_figure(f"{lang}: most frequent opening 5-gram ({words})", share, 0.02),
        check_figure(f"{lang}: AUC without the question, {len(items[:GIVEAWAY_ITEMS])} items", auc, 0.6),
        check_figure(f"{lang}: the same for integration items", measure_giveaway(integration), 0.6),
    ]


def measure_lexical(spec: SynthSpec) -> bool:
    """Measure `baseline/lexical` at noise 0.8, because the data must be neither trivial nor broken."""
    lang, correct, total = spec.lang, 0, 0
    settings = Settings(noise=(Fraction(4, 5),), num_docs=(5,), langs=(lang,))
    with tempfile.TemporaryDirectory() as folder:
        write_dataset((spec,), {"base": LEXICAL_ITEMS}, Path(folder))
        dataset = Dataset("synthetic", Path(folder) / f"{lang}_base.jsonl")
        for case in generate_cases([dataset], choose_testbeds(["noise"], settings), settings, named=True):
            sentence = answer_lexically(case.question, [document.text for document in case.documents])
            correct += all(holds_slot(sentence.lower(), forms) for forms in case.answer)
            total += 1
    return check_figure(f"{lang}: lexical baseline at noise 0.8, n = {total}", correct / total, 0.6, minimum=0.15)


def measure_speed(lang: Lang, count: int) -> list[bool]:
    """Measure two processes that write items with ten documents of about 60 tokens, scaled to a million items."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "speed.py"  # the worker processes import this file
        script.write_text(_SPEED.format(seed=SEED, lang=lang, count=count), "utf-8")
        start = time.perf_counter()
        done = subprocess.run([sys.executable, str(script), folder], check=True, stdout=subprocess.PIPE, text=True)
        minutes = (time.perf_counter() - start) / count * 1_000_000 / 60
    parent_kb, worker_kb, tokens, cpu_s = map(int, done.stdout.split())
    per_million = f"1,000,000 items (measured: {count:,}, {tokens} tokens per document)"
    return [
        check_figure(f"{lang}: CPU minutes per core of two for {per_million}", cpu_s / count * 1_000_000 / 120, 20),
        check_figure(f"{lang}: elapsed minutes", minutes, 20),
        check_figure(
            f"{lang}: memory in MB of the main process and two workers", (parent_kb + 2 * worker_kb) / 1024, 300
        ),
    ]
