"""Noise robustness: the curve, the harm of related text, and noise apart from missing evidence."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.analysis.metrics.curve import measure_curve


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
