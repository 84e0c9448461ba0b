"""Noise robustness: accuracy by noise ratio, by kind of distractor and by position of the documents."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import measure_curve
from ragbed.analysis.metrics.trial_columns import Ints, Mask
from ragbed.analysis.statistics.paired import cochran_q


def measure(maker: CellBuilder) -> Iterator[Cell]:
    """The cells of the noise testbed."""
    related = maker.sheet.of("noise")
    for k in np.unique(maker.sheet.k[related]).tolist():
        yield from measure_curve(maker, related, k)
        yield from _refusals(maker, k)
        yield from _effective(maker, k)
        yield from _gap(maker, k)
    yield from _fixed(maker)


def _refusals(maker: CellBuilder, k: int) -> Iterator[Cell]:
    """False refusals and false alarms at every ratio: documents hold the answer, and none is false."""
    mask = maker.sheet.of("noise") & (maker.sheet.k == k)
    for metric, name in (("false_refusal", "refused"), ("false_alarm", "flagged")):
        values = maker.score(name)
        for ratio in np.unique(maker.sheet.noise[mask]).tolist():
            yield maker.rate(metric, mask & (maker.sheet.noise == ratio), values, noise=ratio, k=k)


def _effective(maker: CellBuilder, k: int) -> Iterator[Cell]:
    """Accuracy by the share of noise that was delivered, where that is not what was asked for (`code-*`)."""
    sheet = maker.sheet
    mask = sheet.of("noise") & (sheet.k == k) & sheet.asked & np.isfinite(sheet.noise_real)
    if np.allclose(sheet.noise[mask], sheet.noise_real[mask], atol=1e-3):
        return
    correct = maker.score("correct")
    for ratio in np.unique(sheet.noise_real[mask]).tolist():
        yield maker.rate("accuracy_by_delivered_noise", mask & (sheet.noise_real == ratio), correct, noise=ratio, k=k)


def _gap(maker: CellBuilder, k: int) -> Iterator[Cell]:
    """Related minus random distractors at the same ratio: what it harms that text is about the matter."""
    sheet, correct = maker.sheet, maker.score("correct")
    random = sheet.of("noise", "random") & (sheet.k == k)
    for ratio in np.unique(sheet.noise[random]).tolist():
        there = sheet.noise == ratio
        yield maker.rate("accuracy", random & there, correct, noise=ratio, k=k, arm="random")
        related = sheet.of("noise") & (sheet.k == k) & there
        if ratio > 0 and related.any():
            yield maker.difference("related_minus_random", random & there, related, correct, noise=ratio, k=k)


def _fixed(maker: CellBuilder) -> Iterator[Cell]:
    """One supporting document beside ever more others: noise and mere length against the document alone."""
    sheet, correct = maker.sheet, maker.score("correct")
    fixed, control = sheet.of("noise", "fixed"), sheet.of("noise", "control")
    alone = fixed & (sheet.k == 1)
    for k in np.unique(sheet.k[fixed]).tolist():
        noisy, long = fixed & (sheet.k == k), control & (sheet.k == k)
        yield maker.rate("accuracy", noisy, correct, k=k, arm="fixed")
        if k > 1:
            yield maker.difference("noise_effect", alone, noisy, correct, k=k, arm="fixed")
        if long.any():
            yield maker.rate("accuracy", long, correct, k=k, arm="control")
            yield maker.difference("length_effect", alone, long, correct, k=k, arm="control")
            yield maker.difference("related_minus_length", long, noisy, correct, k=k, arm="fixed")


def measure_positions(maker: CellBuilder) -> Iterator[Cell]:
    """Yield accuracy by position, Cochran's Q and order robustness, for each ratio with all positions measured.

    The plain difference between the best and the worst position is mostly chance. Order robustness counts the questions
    that get the same verdict at every position. A question counts once per seed, because each seed chooses other
    documents. A question with a single position, in an unfinished run, is left out.
    """
    sheet, correct = maker.sheet, maker.score("correct")
    mask = sheet.of("noise") & (sheet.repeat == 0) & (sheet.slot >= 0)
    for k in np.unique(sheet.k[mask]).tolist():
        for ratio in np.unique(sheet.noise[mask & (sheet.k == k)]).tolist():
            here = mask & (sheet.k == k) & (sheet.noise == ratio)
            here &= np.bincount(sheet.layouts, weights=here)[sheet.layouts] > 1
            slots = [here & (sheet.slot == slot) for slot in range(k)]
            verdicts = np.column_stack([sheet.per_layout(slot, correct) for slot in slots])
            whole = np.asarray(np.isfinite(verdicts).all(axis=1))
            if k > 1 and whole.any():
                counts = sheet.counts(sheet.layouts, len(whole))[whole]
                yield from _position_cells(maker, slots, (verdicts[whole] > 0.5, counts), ratio)


def _position_cells(maker: CellBuilder, slots: list[Mask], asked: tuple[Mask, Ints], ratio: float) -> Iterator[Cell]:
    (verdicts, counts), correct = asked, maker.score("correct")
    k, n, everywhere = len(slots), int(counts.sum()), np.logical_or.reduce(slots)
    for slot, mask in enumerate(slots):
        yield maker.rate("accuracy_by_slot", mask, correct, noise=ratio, k=k, slot=slot)
    yield maker.number("position_p", cochran_q(verdicts, counts), n, everywhere, noise=ratio, k=k)
    alike = (verdicts == verdicts[:, :1]).all(axis=1)
    yield maker.share("order_robustness", int(counts[alike].sum()), n, everywhere, noise=ratio, k=k)
