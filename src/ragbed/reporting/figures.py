"""Draw a report's figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from ragbed.analysis.diagnosis.summary import UNCLASSIFIED, RunDiagnosis, shares_of
from ragbed.analysis.locale import Locale
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.metrics.knowledge import PRIORS
from ragbed.reporting.pages.charts import (
    Chart,
    ChartRow,
    ChartTexts,
    Series,
    StackSegment,
    curves,
    heat,
    safe_name,
    stacks,
)
from ragbed.reporting.table import group_by
from ragbed.reporting.tables import tell_condition
from ragbed.schema import Estimate
from ragbed.testbeds.own_rag import NAME as OWN_RAG

# Colours for the outcomes of cases with false documents.
_HUES = {"correct": 1, "misled": 2, "both": 4, "refused": 6, "other": 8}


class Panel(NamedTuple):
    """The data, language, profile and number of documents that one figure shows, with one series per model.

    `k` is 0 if the figure combines several numbers of documents. `is_one_of_two` is set if the data has both languages;
    the title then names the language.
    """

    data: str
    lang: str
    profile: str
    k: int
    is_one_of_two: bool


def make_figures(cells: Sequence[Cell], scorer: str, words: Locale) -> list[Chart]:
    """Return all figures that can be drawn from a scorer's cells, ordered by ability."""
    shown = [cell for cell in cells if (cell.scorer, cell.scope) == (scorer, "all")]
    return [
        *_curves(shown, "noise", words),
        *_abstention(shown, words),
        *_curves(shown, "integration", words),
        *_counterfactual(shown, words),
        *_dose_response(shown, words),
        *_length(shown, words),
        *_position(shown, words),
    ]


def draw_error_types(diagnoses: Sequence[RunDiagnosis], words: Locale) -> Iterator[Chart]:
    """Yield one chart per dataset with the share of each error type in each model's wrong answers."""
    names = words.section("errors")
    shown = (one for one in diagnoses if one.case.testbed != OWN_RAG)  # the causes of these are in a table
    for data, of_data in group_by(shown, lambda one: one.case.data).items():
        models = group_by(of_data, lambda one: one.label)
        shares = [
            {
                share.name: share.share.value
                for share in shares_of([one.diagnosis for one in found], "type", is_monitored=False)
            }
            for found in models.values()
        ]
        rows = [
            ChartRow(text if name == UNCLASSIFIED else f"{name} {text}", [found.get(name, 0.0) for found in shares])
            for name, text in names.items()
            if any(found.get(name) for found in shares)
        ]
        columns = [f"{model} (n = {len(found)})" for model, found in models.items()]
        texts = ChartTexts(
            words("figures.errors.title", data=data), words("figures.errors.desc"), words("figures.errors.type")
        )
        yield heat(f"errors-{safe_name(data)}", texts, columns, rows)


def _panels(cells: Sequence[Cell], table: str) -> dict[Panel, dict[str, list[Cell]]]:
    """Group a table's cells by panel and model."""
    panels: dict[Panel, dict[str, list[Cell]]] = {}
    langs = Counter(data for data, _ in {(cell.key.data, cell.key.lang) for cell in cells})
    for cell in cells:
        k = cell.place.get("k")
        if cell.table == table and cell.has_usual_distractors and k is not None:
            panel = Panel(cell.key.data, cell.key.lang, cell.key.profile, k, langs[cell.key.data] > 1)
            panels.setdefault(panel, {}).setdefault(cell.key.model, []).append(cell)
    return panels


def _curves(cells: Sequence[Cell], table: str, words: Locale) -> Iterator[Chart]:
    closed = {
        cell.key: cell.estimate for cell in cells if cell.table == "closed-book" and cell.estimate.metric == "accuracy"
    }
    for panel, models in _panels(cells, table).items():
        series = []
        for model, own in models.items():
            if points := _points(own, "accuracy", "noise"):
                series.append(Series(model, points, closed.get(own[0].key)))
        if any(len(one.points) > 1 for one in series):  # A single point is shown only in the tables.
            names = {"across": "noise_ratio", "up": "accuracy", "level": "closed_book"}
            axes = {axis: words(f"figures.{name}") for axis, name in names.items()}
            yield curves(_name(table, panel), _texts(words, table, panel, **axes), series)


def _abstention(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    """Draw each model's outcomes when documents lack the answer and, if noise was evaluated, when they contain it."""
    hues = {"refused": 6, "right": 1, "wrong": 2, "failed": 8}
    parts = [StackSegment(words(f"figures.abstention.{name}"), hue) for name, hue in hues.items()]
    noise = _panels(cells, "noise")
    for panel, models in _panels(cells, "rejection").items():
        rows = []
        for model, own in models.items():
            known = (cell for cell in noise.get(panel, {}).get(model, []) if cell.estimate.value is not None)
            ratio, lowest = next(iter(_by_noise(known).items()), (0.0, []))
            for note, found, refusal, accuracy in (
                (words("figures.abstention.none"), own, "refusal_recall", "correct_without_evidence"),
                (words("figures.abstention.some", noise=f"{ratio:g}"), lowest, "false_refusal", "accuracy"),
            ):
                refused, right = _first(found, refusal), _first(found, accuracy)
                if refused is not None and right is not None:
                    rows.append(_outcomes(model, note, refused, right))
        if rows:
            yield stacks(_name("abstention", panel), _texts(words, "abstention", panel), parts, rows)


def _outcomes(model: str, note: str, refused: Estimate, right: Estimate) -> ChartRow:
    shares = (refused.value or 0.0, right.value or 0.0)
    failed = (refused.errors + refused.truncated + refused.filtered) / refused.asked if refused.asked else 0.0
    # Truncated responses may already be counted under other outcomes, because some scorers also score them.
    failed = min(failed, 1 - sum(shares))
    return ChartRow(model, (*shares, max(0.0, 1 - sum(shares) - failed), failed), note, refused.n)


def _counterfactual(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    parts, metrics = [], []
    for kind, hue in _HUES.items():
        name = words(f"figures.counterfactual.{kind}")
        parts += [StackSegment(words("figures.counterfactual.flagged", kind=name), hue), StackSegment(name, hue, True)]
        metrics += [f"{kind}_flagged", f"{kind}_unflagged"]
    parts.append(StackSegment(words("figures.counterfactual.failed"), 3, True))
    for panel, models in _panels(cells, "counterfactual").items():
        rows = []
        for model, own in models.items():
            false = [cell for cell in own if not cell.place.get("correct") and not cell.place.get("noise")]
            found = [one for metric in metrics if (one := _first(false, metric)) is not None]
            if len(found) == len(metrics):
                shares = [one.value or 0.0 for one in found]
                rows.append(ChartRow(model, (*shares, max(0.0, 1 - sum(shares))), n=found[0].n))
        if rows:
            yield stacks(_name("counterfactual", panel), _texts(words, "counterfactual", panel), parts, rows)


def _dose_response(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    """Plot accuracy against the share of true documents, with one curve per model and prior (right, wrong or none)."""
    for panel, models in _panels(cells, "conflict").items():
        series = [
            Series(words(f"figures.conflict.{prior}", model=model), points)
            for model, own in models.items()
            for prior in PRIORS
            if (points := _points(own, f"accuracy_prior_{prior}", "correct"))
        ]
        if series:
            axes = {"across": words("figures.conflict.true_share"), "up": words("figures.accuracy")}
            yield curves(_name("conflict", panel), _texts(words, "conflict", panel, **axes), series)


def _length(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    """Plot accuracy against the number of documents on a logarithmic scale."""
    panels: dict[Panel, list[Series]] = {}
    of_length = (cell for cell in cells if cell.table == "length")
    for (key, arm), own in group_by(of_length, lambda cell: (cell.key, cell.place.get("arm"))).items():
        name = key.model
        if arm is not None:
            name = words("figures.length.condition", model=name, distractors=tell_condition("setting", arm, words))
        if len(points := _points(own, "accuracy", "k")) > 1:
            panels.setdefault(Panel(key.data, key.lang, key.profile, 0, True), []).append(Series(name, points))
    for panel, series in panels.items():
        axes = {"across": words("figures.length.number"), "up": words("figures.accuracy")}
        yield curves(_name("length", panel), _texts(words, "length", panel, **axes), series, is_log=True)


def _position(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    for panel, models in _panels(cells, "position").items():
        rows = []
        for model, own in models.items():
            for ratio, here in _by_noise(cell for cell in own if cell.estimate.metric == "accuracy_by_slot").items():
                by_slot = {cell.place.get("slot"): cell.estimate.value for cell in here}
                note = words("figures.at_noise", noise=f"{ratio:.3g}")
                rows.append(ChartRow(model, [by_slot.get(slot) for slot in range(panel.k)], note))
        if rows:
            columns = [words("figures.slot_number", number=slot + 1) for slot in range(panel.k)]
            texts = _texts(words, "position", panel, across=words("figures.slot"))
            yield heat(_name("position", panel), texts, columns, rows)


def _points(cells: Iterable[Cell], metric: str, axis: Literal["noise", "correct", "k"]) -> dict[float, Estimate]:
    """Return the values of a metric by their positions on the x-axis, in order."""
    found = [cell for cell in cells if cell.estimate.metric == metric and cell.estimate.value is not None]
    points = {cell.place.get(axis) or 0.0: cell.estimate for cell in found}
    return dict(sorted(points.items(), key=lambda point: point[0]))


def _first(cells: Iterable[Cell], metric: str) -> Estimate | None:
    """Return the first known value of a metric. Cells without feasible cases have none."""
    found = (cell.estimate for cell in cells if cell.estimate.metric == metric)
    return next((one for one in found if one.value is not None), None)


def _by_noise(cells: Iterable[Cell]) -> dict[float, list[Cell]]:
    with_ratio = (cell for cell in cells if cell.place.get("noise") is not None)
    return dict(sorted(group_by(with_ratio, lambda cell: cell.place["noise"] or 0.0).items()))


def _texts(words: Locale, figure: str, panel: Panel, **axes: str) -> ChartTexts:
    data = panel.data
    if panel.is_one_of_two:
        data = words("figures.data_lang", data=data, lang=words(f"summary.lang.{panel.lang}"))
    of = "figures.of" if panel.k else "figures.of_one" if figure == "noise" else "figures.of_all"
    title = words(f"figures.{figure}.title", of=words(of, data=data, k=panel.k, profile=panel.profile))
    desc = words(f"figures.{figure}.desc")
    if figure in ("noise", "abstention", "integration", "position"):
        desc += ("" if words.lang == "zh" else " ") + words("figures.usual")
    return ChartTexts(title, desc, words("figures.model"), **axes)


def _name(figure: str, panel: Panel) -> str:
    return f"{figure}-{safe_name(f'{panel.data}-{panel.profile}')}-{panel.lang}-{panel.k}"
