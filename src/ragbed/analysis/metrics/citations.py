"""Citation metrics for the `cite` prompting strategy: precision, recall, fabricated citations and uncited sentences."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ragbed.analysis.metrics.cells import Cell, CellBuilder
from ragbed.scoring.citations import CITATION_SCORES


def measure(builder: CellBuilder) -> Iterator[Cell]:
    """Yield the mean citation scores of responses with an answer, over all noise ratios and for each ratio."""
    trials = builder.trials
    values = {name: trials.scores[name] for name in CITATION_SCORES if name in trials.scores}
    given = trials.of("noise") | trials.of("integration")
    for k, mask in trials.split(given, "k") if values else ():
        for name, scores in values.items():
            if np.isfinite(scores[mask]).any():
                yield builder.at(k=k).rate(name, mask, scores)
                for ratio, point in trials.split(mask, "noise"):
                    yield builder.at(noise=ratio, k=k).rate(name, point, scores)
