"""Measure how varied, unguessable and fast to generate the synthetic news is (docs/synth.md).

    python -m benches synth_quality [--items 10000] [--speed-items 1000000] [--seed 7] [--tokens 85] [--lang zh]

Without options a small sample is taken, which needs half a minute; the figures of the data card come from the options
above. Speed is measured with documents of 60 tokens in any case. Exit code 1 if a figure is missed. What it does to
a real model is measured by `synth_perturbations`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from fractions import Fraction
from pathlib import Path

from ragbed.data import Dataset
from ragbed.models.lexical import answer_lexically
from ragbed.schema import Lang
from ragbed.synth import SynthSpec, make_items, write_world
from ragbed.testbeds.selection import choose_testbeds, generate_cases
from ragbed.testbeds.settings import Settings
from ragbed.text import holds_answer

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.synth.text_quality import measure_giveaway, measure_openings, measure_overlap

SEED = 7
LANGS: tuple[Lang, ...] = ("en", "zh")
GIVEAWAY_ITEMS, LEXICAL_ITEMS = 1500, 1000
_SPEED = """
import resource, sys
from pathlib import Path
from ragbed.synth import SynthSpec, make_items, write_world

if __name__ == "__main__":
    recipe = SynthSpec({seed}, {lang!r}, 5, 5, tokens=60, dials=())
    write_world((recipe,), {{"base": {count}}}, Path(sys.argv[1]), workers=2)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    lengths = [p.dials["length_tokens"] for item in make_items(recipe, "base", 0, 100) for p in item.passages]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    print(*(each.ru_maxrss for each in used), sum(lengths) // len(lengths), round(cpu))
"""


def main() -> None:
    """Measures all figures; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=500, help="items of the diversity sample")
    parser.add_argument("--speed-items", type=int, default=2000, help="items that are generated and timed")
    parser.add_argument("--lang", choices=LANGS, help="one language alone")
    parser.add_argument("--seed", type=int, default=SEED, help="of the world")
    parser.add_argument("--tokens", type=int, default=SynthSpec(SEED, "en").tokens, help="about how long a document is")
    asked = parser.parse_args()
    held: list[bool] = []
    for lang in (asked.lang,) if asked.lang else LANGS:
        recipe = SynthSpec(asked.seed, lang, tokens=asked.tokens)
        held += [*measure_text(recipe, asked.items), measure_lexical(recipe), *measure_speed(lang, asked.speed_items)]
    sys.exit(not all(held))


def measure_text(recipe: SynthSpec, count: int) -> list[bool]:
    """Diversity, and whether a document gives away its stance."""
    lang = recipe.lang
    items = list(make_items(recipe, "base", 0, count))
    overlap = measure_overlap(items)
    share, words = measure_openings(items)
    auc = measure_giveaway(items[:GIVEAWAY_ITEMS])
    several = list(make_items(recipe, "int", 0, count // 10))
    return [
        _tell(f"{lang}: pairs over 60 % of 8-grams, {overlap.documents:,} documents", len(overlap.pairs), 0),
        _tell(f"{lang}: most frequent opening 5-gram ({words})", share, 0.02),
        _tell(f"{lang}: AUC without the question, {len(items[:GIVEAWAY_ITEMS])} items", auc, 0.6),
        _tell(f"{lang}: the same for integration items", measure_giveaway(several), 0.6),
    ]


def measure_lexical(recipe: SynthSpec) -> bool:
    """`baseline/lexical` at noise 0.8: neither trivial nor broken."""
    lang, right, total = recipe.lang, 0, 0
    settings = Settings(
        noise=(Fraction(4, 5),),
        num_docs=5,
        correct=(Fraction(0),),
        distractors=("related",),
        all_positions=False,
        profile="robust",
        seed=0,
        langs=(lang,),
        limit=None,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_world((recipe,), {"base": LEXICAL_ITEMS}, Path(folder))
        dataset = Dataset("world", Path(folder) / f"{lang}_base.jsonl")
        for case in generate_cases([dataset], choose_testbeds(["noise"], settings), settings, named=True):
            sentence = answer_lexically(case.question, [document.text for document in case.documents])
            right += holds_answer(sentence.lower(), case.answer)
            total += 1
    return _tell(f"{lang}: lexical baseline at noise 0.8, n = {total}", right / total, 0.6, least=0.15)


def measure_speed(lang: Lang, count: int) -> list[bool]:
    """Ten documents of about 60 tokens an item, in two processes; extrapolated to a million items."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "speed.py"  # a file, because the workers import it again
        script.write_text(_SPEED.format(seed=SEED, lang=lang, count=count), "utf-8")
        before = time.perf_counter()
        told = subprocess.run([sys.executable, str(script), folder], check=True, stdout=subprocess.PIPE, text=True)
        minutes = (time.perf_counter() - before) / count * 1_000_000 / 60
    parent_kb, worker_kb, tokens, cpu_s = map(int, told.stdout.split())
    per_million = f"1,000,000 items, from {count:,} of {tokens} tokens a document"
    return [
        _tell(f"{lang}: minutes on two cores by CPU time for {per_million}", cpu_s / count * 1_000_000 / 120, 20),
        _tell(f"{lang}: minutes by the clock, whoever else uses the cores", minutes, 20),
        _tell(f"{lang}: memory in MB, this process and two workers", (parent_kb + 2 * worker_kb) / 1024, 300),
    ]


def _tell(what: str, value: float, most: float, *, least: float | None = None) -> bool:
    held = value <= most and (least is None or value >= least)
    bounds = f"at most {most:g}" if least is None else f"{least:g} to {most:g}"
    print(f"{'ok  ' if held else 'MISS'}  {what}: {value:.4g} (asked: {bounds})", flush=True)
    return held
