"""Charts of error types, one for each dataset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ragbed.analysis.diagnosis.causes import NONE, Cause, share_types
from ragbed.analysis.locale import Locale
from ragbed.analysis.statistics.rates import wilson
from ragbed.reporting.pages.charts import Bar, Chart, bars, safe_name
from ragbed.reporting.pages.charts.bars import BarTexts as BarWords


def draw_causes(causes: Sequence[Cause], words: Locale) -> Iterator[Chart]:
    """One chart a dataset: a group a type, a bar a model."""
    names = words.section("errors")
    for data in dict.fromkeys(cause.case.data for cause in causes):
        here = [cause for cause in causes if cause.case.data == data]
        models = dict.fromkeys(cause.model for cause in here)
        wrong = {model: [cause for cause in here if cause.model == model] for model in models}
        counts = {model: share_types(own) for model, own in wrong.items()}
        found = [name for name in names if any(name in own for own in counts.values())]
        groups = [
            (
                names[name] if name == NONE else f"{name} {names[name]}",
                [Bar(model, *wilson(counts[model].get(name, 0), len(own)), len(own)) for model, own in wrong.items()],
            )
            for name in found
        ]
        told = BarWords(
            words("figures.errors.title", data=data), words("figures.errors.desc"), words("figures.errors.type")
        )
        yield bars(f"errors-{safe_name(data)}", told, groups)
