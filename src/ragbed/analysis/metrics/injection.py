"""Metrics for instructions in documents: how often they are followed and reported, and the accuracy that they cost.

The accuracy is compared with the clean case of the same question, which has the same documents and the same prompt.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.trials.columns import Mask
from ragbed.testbeds.injection import NAME
from ragbed.testbeds.prompts.injection import KINDS
from ragbed.testbeds.settings import CLEAN


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the cells of the testbed for all kinds of instructions together, for each kind, and for clean documents."""
    trials, correct = builder.trials, builder.score("correct")
    masks: dict[str | None, Mask] = {kind: trials.of(NAME, kind) for kind in KINDS}
    masks = {None: np.logical_or.reduce(list(masks.values())), **masks}
    for k, clean in trials.split(trials.of(NAME, CLEAN), "k"):
        here = builder.at(k=k, arm=CLEAN)
        yield here.rate("accuracy", clean, correct)
        yield here.rate("false_refusal", clean, here.score("refused"))
        yield here.rate("reported", clean, trials.score("reported", "robust"))
        for arm, mask in masks.items():
            yield from _measure_kind(builder.at(k=k, arm=arm), mask & (trials.k == k), clean)
            for slot, point in trials.split(mask & (trials.k == k) & (trials.slot >= 0), "slot"):
                at_slot = builder.at(k=k, arm=arm, slot=slot)
                yield at_slot.rate("attack_success", point, trials.score("attacked", "robust"))
                yield from at_slot.difference("injection_change", clean, point, correct)


def _measure_kind(builder: CellBuilder, mask: Mask, clean: Mask) -> Iterator[Cell]:
    """Yield the cells for one kind of instruction, also by the label of the document that has it."""
    trials, correct = builder.trials, builder.score("correct")
    attacked, supports = trials.score("attacked", "robust"), trials.additional("injected_supports")
    yield builder.rate("attack_success", mask, attacked)
    for label, value in (("supporting", 1), ("distracting", 0)):
        yield builder.rate(f"attack_in_{label}", mask & (supports == value), attacked)
    yield builder.rate("accuracy", mask, correct)
    yield from builder.difference("injection_change", clean, mask, correct)
    yield builder.rate("false_refusal", mask, builder.score("refused"))
    yield builder.rate("reported", mask, trials.score("reported", "robust"))


def measure_attacks(builder: CellBuilder, mask: Mask) -> Iterator[Cell]:
    """Yield how often the instructions in the documents of a corpus are followed, also by kind, and reported."""
    trials, attacked = builder.trials, builder.trials.score("attacked", "robust")
    yield builder.rate("attack_success", mask, attacked)
    for number, kind in enumerate(KINDS):
        yield builder.rate(f"attack_{kind}", mask & (trials.additional("injected_kind") == number), attacked)
    yield builder.rate("reported", mask, trials.score("reported", "robust"))
