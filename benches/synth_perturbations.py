"""Measure how the perturbations of synthetic news affect a real model, and that the model cannot guess the answers.

    python -m benches synth_perturbations [--model bundled/smollm2] [--lang en] [--pairs 400] [--dials sibling,hedge]
                                  [--seed 31415] [--distracting 1]

Any model of `ragbed run` can be asked; the figures of the data card (docs/synth.md) are of the options above. One line
a figure; exit code 1 if one is missed. SmolLM2 takes about a second a prompt on two cores; a pair has two prompts.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import re
import sys
from collections.abc import Callable, Sequence
from math import comb
from typing import NamedTuple, TypeAlias

from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Sampling
from ragbed.schema import Item, Lang, Message
from ragbed.synth import DIALS, SynthSpec, make_items
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.requests import case_of
from ragbed.testbeds.settings import PROFILES

Prompt: TypeAlias = tuple[Message, ...]
Ask: TypeAlias = Callable[[Sequence[Prompt]], list[str]]

CLOSED_SEED, CLOSED_ITEMS = 7, 300
SEED, PAIRS, DISTRACTING = 31415, 400, 1
AT_ONCE, MAX_TOKENS = 32, 32
PLANTING = ("hedge", "sibling", "outdated", "partial", "contradiction")
"""Dials whose distracting documents give a value for what is asked that is not the answer; off, they give none."""
_UNIT = re.compile(r"\s|(?<=\d)(?=(?![万亿年月])[\u4e00-\u9fff])")
"""Where the unit of a number begins; a year is no number."""
EASIER = ("random",)
"""Dials that make the item easier."""
WORDS: dict[Lang, str] = {
    "en": "Read this news and answer the question.\n\n{news}\n\nQuestion: {question}",
    "zh": "阅读下面的新闻，然后回答问题。\n\n{news}\n\n问题：{question}",
}
"""One line of instruction: with the testbeds' own a model of 135 million parameters answers hardly anything."""


class Trial(NamedTuple):
    """Which twins are asked about, and with how many distracting documents."""

    lang: Lang
    seed: int
    pairs: int
    distracting: int


def main() -> None:
    """Measures all figures; exit code 1 if one is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled/smollm2", help="who is asked")
    parser.add_argument("--lang", choices=("en", "zh"), default="en")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="twins asked for each dial")
    parser.add_argument("--dials", default=",".join(DIALS), help="dials whose effect is measured")
    parser.add_argument("--seed", type=int, default=SEED, help="of the twins")
    parser.add_argument(
        "--distracting", type=int, default=DISTRACTING, help="documents beside the supporting one: 1 to 4"
    )
    asked = parser.parse_args()
    if unknown := set(asked.dials.split(",")) - set(DIALS):
        sys.exit(f"unknown dial {', '.join(sorted(unknown))}; there are {', '.join(DIALS)}.")
    ask = asker(asked.model, asked.lang)
    held = [measure_closed_book(ask, asked.lang)]
    trial = Trial(asked.lang, asked.seed, asked.pairs, asked.distracting)
    held += [measure_dial(ask, trial, dial) for dial in asked.dials.split(",")]
    sys.exit(not all(held))


def asker(name: str, lang: Lang) -> Ask:
    """Asks a model, greedily, as many prompts at a time as it takes."""

    async def ask_all(prompts: Sequence[Prompt]) -> list[str]:
        model = open_model(name, lambda model: ModelConfig(model, os.environ, sampling=Sampling(max_tokens=MAX_TOKENS)))
        room = asyncio.Semaphore(AT_ONCE)  # a model that takes fewer lets the others wait

        async def ask_one(prompt: Prompt) -> str:
            async with room:
                completion = await model.complete(case_of("dials", "dials", lang, prompt))
            if completion.outcome != "ok":
                sys.exit(f"{name}: {completion.error or completion.outcome}")
            return completion.reply or ""

        try:
            return await asyncio.gather(*map(ask_one, prompts))
        finally:
            await model.close()

    return lambda prompts: asyncio.run(ask_all(prompts))


def measure_closed_book(ask: Ask, lang: Lang) -> bool:
    """No document, no answer: nobody has read this news."""
    instructions = Instructions(PROFILES["robust"].prompts)
    items = list(make_items(SynthSpec(CLOSED_SEED, lang), "base", 0, CLOSED_ITEMS))
    replies = ask([instructions.messages(lang, item.question, []) for item in items])
    right = sum(_is_right(item, reply) for item, reply in zip(items, replies, strict=True))
    return _tell(f"closed-book, right of {CLOSED_ITEMS}", right, 0)


def measure_dial(ask: Ask, trial: Trial, dial: str) -> bool:
    """What turning a dial on does to a model, on twins: exact tests (McNemar) of the errors that are the dial's own.

    Its own is the wrong value that the dial puts into a distracting document; where it puts none, any error. The number
    of pairs and the seed are fixed beforehand: figures of a sample that grew until it pleased mean nothing.
    """
    recipe = SynthSpec(trial.seed, trial.lang, 4, 4, tokens=70, dials=(dial,), mixed=False)
    items = list(make_items(recipe, "base", 0, 2 * trial.pairs))
    picked = [_pick_documents(on, dial, trial.distracting) for on in items[1::2]]
    replies = ask(
        [
            _prompt(item, places, last=number % 2 == 1)
            for number, (places, _) in enumerate(picked)
            for item in items[2 * number : 2 * number + 2]
        ]
    )
    right = [_is_right(item, reply) for item, reply in zip(items, replies, strict=True)]
    planted = [values for _, values in picked for _ in ("off", "on")]
    misled = [_gives(reply, values) and not good for reply, values, good in zip(replies, planted, right, strict=True)]
    off_on = list(zip(right[::2], right[1::2], strict=True))
    drop = _compare(f"dial {dial}: right answers", [pair[::-1] if dial in EASIER else pair for pair in off_on])
    if dial not in PLANTING:
        return drop
    on_off = list(zip(misled[1::2], misled[::2], strict=True))
    return _compare(f"dial {dial}: replies with the planted value", on_off)


def _pick_documents(item: Item, dial: str, distracting: int) -> tuple[list[int], list[str]]:
    """The places of the documents that are asked with, a supporting one first, and the values that the dial plants."""
    sizes = {at: int((passage.dials or {})["length_tokens"]) for at, passage in enumerate(item.passages)}
    pools = {
        stance: sorted((at for at in sizes if item.passages[at].stance == stance), key=lambda at: (sizes[at], at))
        for stance in ("supports", "distracts")
    }
    others = pools["distracts"][: 0 if dial == "distance" else max(distracting, 3 if dial == "agreement" else 1)]
    planted = [str((item.passages[at].dials or {})["states"]) for at in others] if dial in PLANTING else []
    return [pools["supports"][0], *others], planted


def _prompt(item: Item, places: list[int], *, last: bool) -> Prompt:
    """The documents under a line of instruction.

    Args:
        item: What is asked.
        places: Its documents, the supporting one first.
        last: Whether the supporting one goes last instead: small models favour what they read last.
    """
    ordered = [*places[1:], places[0]] if last else places
    news = "\n\n".join(item.passages[at].text for at in ordered)
    return (Message(role="user", content=WORDS[item.lang].format(news=news, question=item.question)),)


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
    bare = [_UNIT.split(alias)[0] for alias in aliases if alias[:1].isdigit()]
    return any(alias and alias.lower() in reply.lower() for alias in aliases) or any(
        len(number) > 2 and number in reply for number in bare
    )


def _tell(what: str, value: float, most: float) -> bool:
    held = value <= most
    print(f"{'ok  ' if held else 'MISS'}  {what}: {value:.4g} (asked: at most {most:g})", flush=True)
    return held
