"""Measure how the perturbations of synthetic news affect a real model, and that the model cannot guess the answers.

    python -m benches synth_perturbations [--model bundled/smollm2] [--lang en] [--pairs 400]
        [--perturbations sibling,hedge] [--seed 31415] [--distractors 1]

Any model that `ragbed run` supports can be used; docs/project/results.md has the figures for the options above. Exit
code 1 if a figure misses its target. SmolLM2 takes about a second per prompt on two cores; a pair has two prompts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Sequence
from math import comb
from pathlib import Path
from typing import NamedTuple, TypeAlias

from benches import check_figure
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Sampling
from ragbed.schema import Item, Lang, Message
from ragbed.synth import PERTURBATIONS, SynthSpec, make_items
from ragbed.testbeds.prompts import Instructions
from ragbed.testbeds.prompts.requests import case_of
from ragbed.testbeds.settings import PROFILES

Prompt: TypeAlias = tuple[Message, ...]
Complete: TypeAlias = Callable[[Sequence[Prompt]], list[str]]

CLOSED_BOOK_SEED, CLOSED_BOOK_ITEMS = 7, 300
SEED, PAIRS, DISTRACTORS = 31415, 400, 1
CONCURRENCY, MAX_TOKENS = 32, 32

# Perturbations whose distractors contain a wrong value of the relation. Without the perturbation, they contain none.
PLANTING = ("hedge", "sibling", "outdated", "partial", "contradiction")
EASIER = ("random",)  # perturbations that make the item easier
_UNIT = re.compile(r"\s|(?<=\d)(?=(?![万亿年月])[\u4e00-\u9fff])")  # the start of a number's unit

# A one-line instruction, because a model with 135 million parameters hardly answers the testbeds' own instructions.
INSTRUCTIONS: dict[Lang, str] = {
    "en": "Read this news and answer the question.\n\n{news}\n\nQuestion: {question}",
    "zh": "阅读下面的新闻，然后回答问题。\n\n{news}\n\n问题：{question}",
}


counts: dict[str, dict[str, object]] = {}  # counts by perturbation


class PairSettings(NamedTuple):
    """The minimal pairs to use, and their number of distractors."""

    lang: Lang
    seed: int
    pairs: int
    distractors: int


def main() -> None:
    """Measure all figures; exit with code 1 if one misses its target."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="bundled/smollm2", help="model to evaluate")
    parser.add_argument("--lang", choices=("en", "zh"), default="en", help="language of the data")
    parser.add_argument("--pairs", type=int, default=PAIRS, help="minimal pairs for each perturbation")
    parser.add_argument("--perturbations", default=",".join(PERTURBATIONS), help="perturbations to measure")
    parser.add_argument("--seed", type=int, default=SEED, help="seed of the minimal pairs")
    parser.add_argument("--distractors", type=int, default=DISTRACTORS, help="distractors in a prompt: 1 to 4")
    parser.add_argument("--write", type=Path, help="file for the counts of docs/project/results.md")
    options = parser.parse_args()
    names = options.perturbations.split(",")
    if unknown := set(names) - set(PERTURBATIONS):
        sys.exit(f"unknown perturbation {', '.join(sorted(unknown))}; choose from {', '.join(PERTURBATIONS)}")
    complete = open_completions(options.model, options.lang)
    passed = [measure_closed_book(complete, options.lang)]
    settings = PairSettings(options.lang, options.seed, options.pairs, options.distractors)
    passed += [measure_perturbation(complete, settings, name) for name in names]
    if options.write:
        found = {"model": options.model, "perturbations": list(counts.values())}
        options.write.write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    sys.exit(not all(passed))


def open_completions(name: str, lang: Lang) -> Complete:
    """Return a function that completes prompts with a model, using greedy decoding."""

    async def complete_all(prompts: Sequence[Prompt]) -> list[str]:
        model = open_model(name, lambda model: ModelConfig(model, os.environ, sampling=Sampling(max_tokens=MAX_TOKENS)))
        semaphore = asyncio.Semaphore(CONCURRENCY)

        async def complete(prompt: Prompt) -> str:
            async with semaphore:
                completion = await model.complete(case_of("perturbations", "perturbations", lang, prompt))
            if completion.outcome != "ok":
                sys.exit(f"{name}: {completion.error or completion.outcome}")
            return completion.reply or ""

        try:
            return await asyncio.gather(*map(complete, prompts))
        finally:
            await model.close()

    return lambda prompts: asyncio.run(complete_all(prompts))


def measure_closed_book(complete: Complete, lang: Lang) -> bool:
    """Check that the model cannot answer without documents, because no model has read this news."""
    instructions = Instructions(PROFILES["robust"].prompts)
    items = list(make_items(SynthSpec(CLOSED_BOOK_SEED, lang), "base", 0, CLOSED_BOOK_ITEMS))
    responses = complete([instructions.messages(lang, item.question, []) for item in items])
    correct = sum(_is_correct(item, response) for item, response in zip(items, responses, strict=True))
    return check_figure(f"closed-book, correct of {CLOSED_BOOK_ITEMS}", correct, 0)


def measure_perturbation(complete: Complete, settings: PairSettings, name: str) -> bool:
    """Test the effect of a perturbation on minimal pairs with McNemar's exact test.

    Only responses with the wrong value that the perturbation puts into a distractor count as errors, or all errors if
    it
    adds no such value. The number of pairs and the seed are fixed in advance: a sample that grows until the result is
    significant proves nothing.
    """
    spec = SynthSpec(settings.seed, settings.lang, 4, 4, tokens=70, perturbations=(name,), mixed=False)
    items = list(make_items(spec, "base", 0, 2 * settings.pairs))
    picked = [_pick_documents(on, name, settings.distractors) for on in items[1::2]]
    responses = complete(
        [
            _prompt(item, positions, support_last=number % 2 == 1)
            for number, (positions, _) in enumerate(picked)
            for item in items[2 * number : 2 * number + 2]
        ]
    )
    correct = [_is_correct(item, response) for item, response in zip(items, responses, strict=True)]
    planted = [values for _, values in picked for _ in ("off", "on")]
    misled = [
        _contains(response, values) and not is_correct
        for response, values, is_correct in zip(responses, planted, correct, strict=True)
    ]
    off_on = list(zip(correct[::2], correct[1::2], strict=True))
    counts[name] = {
        "name": name,
        "pairs": len(off_on),
        "off": sum(correct[::2]),
        "on": sum(correct[1::2]),
        "only_off": off_on.count((True, False)),
        "only_on": off_on.count((False, True)),
        "planted": [sum(misled[::2]), sum(misled[1::2])] if name in PLANTING else None,
        "easier": name in EASIER,
    }
    drop = _compare(f"{name}: correct answers", [pair[::-1] if name in EASIER else pair for pair in off_on])
    if name not in PLANTING:
        return drop
    on_off = list(zip(misled[1::2], misled[::2], strict=True))
    return _compare(f"{name}: responses with the planted value", on_off)


def _pick_documents(item: Item, name: str, distractors: int) -> tuple[list[int], list[str]]:
    """Return the indexes of the prompt's documents, with the supporting one first, and the planted values."""
    lengths = {at: int((passage.dials or {})["length_tokens"]) for at, passage in enumerate(item.passages)}
    shortest = sorted(lengths, key=lambda at: (lengths[at], at))
    support = next(at for at in shortest if item.passages[at].stance == "supports")
    count = 0 if name == "distance" else max(distractors, 3 if name == "agreement" else 1)
    others = [at for at in shortest if item.passages[at].stance == "distracts"][:count]
    planted = [str((item.passages[at].dials or {})["states"]) for at in others] if name in PLANTING else []
    return [support, *others], planted


def _prompt(item: Item, positions: list[int], *, support_last: bool) -> Prompt:
    """Return the prompt with the supporting document first or last, because small models favour the last document."""
    ordered = [*positions[1:], positions[0]] if support_last else positions
    news = "\n\n".join(item.passages[at].text for at in ordered)
    return (Message(role="user", content=INSTRUCTIONS[item.lang].format(news=news, question=item.question)),)


def _compare(title: str, pairs: list[tuple[bool, bool]]) -> bool:
    """Test whether the first of a pair is true more often than the second (exact, one-sided, discordant pairs)."""
    more, fewer = pairs.count((True, False)), pairs.count((False, True))
    p_value = sum(comb(more + fewer, k) for k in range(more, more + fewer + 1)) / 2 ** (more + fewer)
    counts = f"{sum(first for first, _ in pairs)} and {sum(second for _, second in pairs)} of {len(pairs)}"
    return check_figure(f"{title} {counts} (discordant pairs: {more} and {fewer}); p", p_value, 0.05)


def _is_correct(item: Item, response: str) -> bool:
    return _contains(response, item.answer[0])


def _contains(response: str, aliases: Sequence[str]) -> bool:
    """Return whether a response contains an alias, or a number without its unit, which small models often omit."""
    numbers = [_UNIT.split(alias)[0] for alias in aliases if alias[:1].isdigit()]
    return any(alias and alias.lower() in response.lower() for alias in aliases) or any(
        len(number) > 2 and number in response for number in numbers
    )
