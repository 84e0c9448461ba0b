"""The figures of a report: which cells are drawn, and as what."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from ragbed.analysis.locale import Locale
from ragbed.analysis.metrics.cells import Cell
from ragbed.reporting.pages.charts import (
    Chart,
    CurvePoint,
    Series,
    Stack,
    StackSegment,
    curves,
    heat,
    safe_name,
    stacks,
)
from ragbed.reporting.pages.charts.curves import CurveTexts as CurveWords
from ragbed.reporting.pages.charts.heat import HeatRow
from ragbed.reporting.pages.charts.heat import HeatTexts as HeatWords
from ragbed.reporting.pages.charts.stacks import StackTexts as StackWords
from ragbed.schema import Estimate

_KINDS = {"correct": 1, "misled": 2, "both": 4, "refused": 6, "other": 8}
"""Outcomes under false documents, and their colours."""


class Panel(NamedTuple):
    """What one figure is of; models are its series."""

    data: str
    lang: str
    profile: str
    k: int
    is_one_of_two: bool
    """Whether the dataset has figures in both languages, so that titles must name the language."""


class _Board:
    """The cells of one table, by panel and model."""

    def __init__(self, cells: Sequence[Cell], table: str) -> None:
        self.panels: dict[Panel, dict[str, list[Cell]]] = {}
        langs = Counter(data for data, _ in {(cell.key.data, cell.key.lang) for cell in cells})
        for cell in cells:
            k = cell.place.get("k")
            if cell.table == table and cell.place.get("arm") is None and k is not None:
                panel = Panel(cell.key.data, cell.key.lang, cell.key.profile, k, langs[cell.key.data] > 1)
                self.panels.setdefault(panel, {}).setdefault(cell.key.model, []).append(cell)


def make_figures(cells: Sequence[Cell], track: str, words: Locale) -> list[Chart]:
    """All figures that the cells of a track allow, ability by ability."""
    shown = [cell for cell in cells if cell.track == track and cell.scope == "all"]
    return [
        *_curves(shown, "noise", words),
        *_abstention(shown, words),
        *_curves(shown, "integration", words),
        *_counterfactual(shown, words),
        *_position(shown, words),
        *_transitions(shown, words),
    ]


def _curves(cells: Sequence[Cell], table: str, words: Locale) -> Iterator[Chart]:
    closed = {
        (cell.key.model, cell.key.data, cell.key.lang, cell.key.profile): cell.estimate
        for cell in cells
        if cell.table == "closed-book" and cell.estimate.metric == "accuracy"
    }
    for panel, models in _Board(cells, table).panels.items():
        series = []
        for model, own in models.items():
            known = [cell for cell in _of(own, "accuracy") if cell.estimate.value is not None]
            points = sorted(_point(cell.place.get("noise"), cell.estimate) for cell in known)
            level = closed.get((model, panel.data, panel.lang, panel.profile))
            if points:
                series.append(Series(model, tuple(points), None if level is None else _point(0.0, level)))
        if any(len(one.points) > 1 for one in series):  # a curve needs two points; the tables have a single one
            told = CurveWords(
                title=_title(words, table, panel),
                description=words(f"figures.{table}.desc"),
                across=words("figures.noise_ratio"),
                up=words("figures.accuracy"),
                level=words("figures.closed_book"),
                series=words("figures.model"),
            )
            yield curves(_name(table, panel), told, series)


def _abstention(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    """Two bars a model: no document has the answer, and, where noise was asked too, documents have it."""
    names = {name: words(f"figures.abstention.{name}") for name in ("refused", "right", "wrong", "failed")}
    parts = [
        StackSegment(names["refused"], 6),
        StackSegment(names["right"], 1),
        StackSegment(names["wrong"], 2),
        StackSegment(names["failed"], 8),
    ]
    noise = _Board(cells, "noise").panels
    for panel, models in _Board(cells, "rejection").panels.items():
        rows = []
        for model, own in models.items():
            refused, right = _first(own, "refusal_recall"), _first(own, "correct_without_evidence")
            if refused is not None and right is not None:
                rows.append(_outcomes(model, words("figures.abstention.none"), refused, right))
            clean = _lowest(noise.get(panel, {}).get(model, []))
            refused, right = _first(clean, "false_refusal"), _first(clean, "accuracy")
            if refused is not None and right is not None:
                rows.append(_outcomes(model, words("figures.abstention.some"), refused, right))
        if rows:
            yield stacks(_name("abstention", panel), _stack_words(words, "abstention", panel), parts, rows)


def _outcomes(model: str, note: str, refused: Estimate, right: Estimate) -> Stack:
    """Refused, right, wrong and failed; failures are in every denominator."""
    failed = refused.errors / refused.asked if refused.asked else 0.0
    shares = (refused.value or 0.0, right.value or 0.0)
    return Stack(model, (*shares, max(0.0, 1 - sum(shares) - failed), failed), refused.n, note)


def _counterfactual(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    kinds = {kind: words(f"figures.counterfactual.{kind}") for kind in _KINDS}
    parts, metrics = [], []
    for kind, hue in _KINDS.items():
        parts += [
            StackSegment(words("figures.counterfactual.flagged", kind=kinds[kind]), hue),
            StackSegment(kinds[kind], hue, True),
        ]
        metrics += [f"{kind}_flagged", f"{kind}_unflagged"]
    parts.append(StackSegment(words("figures.counterfactual.failed"), 3, True))
    for panel, models in _Board(cells, "counterfactual").panels.items():
        rows = []
        for model, own in models.items():
            false = [cell for cell in own if not cell.place.get("correct") and not cell.place.get("noise")]
            found = [_first(false, metric) for metric in metrics]
            if all(one is not None and one.value is not None for one in found):
                shares = [one.value or 0.0 for one in found if one is not None]
                n = next(one.n for one in found if one is not None)
                rows.append(Stack(model, (*shares, max(0.0, 1 - sum(shares))), n))
        if rows:
            yield stacks(_name("counterfactual", panel), _stack_words(words, "counterfactual", panel), parts, rows)


def _position(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    for panel, models in _Board(cells, "position").panels.items():
        rows = []
        for model, own in models.items():
            for ratio, here in _by_noise(_of(own, "accuracy_by_slot")).items():
                by_slot = {cell.place.get("slot"): cell.estimate.value for cell in here}
                note = words("figures.at_noise", noise=f"{ratio:.3g}")
                rows.append(HeatRow(model, note, [by_slot.get(slot) for slot in range(panel.k)]))
        if rows:
            columns = [words("figures.slot_number", number=slot + 1) for slot in range(panel.k)]
            yield heat(_name("position", panel), _heat_words(words, "position", panel, "slot"), columns, rows)


def _transitions(cells: Sequence[Cell], words: Locale) -> Iterator[Chart]:
    ends = ("right_right", "wrong_right", "right_wrong", "wrong_wrong")
    for panel, models in _Board(cells, "transitions").panels.items():
        rows = []
        for model, own in models.items():
            for ratio, here in _by_noise(own).items():
                values = {cell.estimate.metric: cell.estimate.value for cell in here}
                note = words("figures.at_noise", noise=f"{ratio:.3g}")
                rows.append(HeatRow(model, note, [_through(values, *end.split("_")) for end in ends]))
        if rows:
            columns = [words(f"figures.transitions.{end}") for end in ends]
            told = _heat_words(words, "transitions", panel, "transitions.columns")
            yield heat(_name("transitions", panel), told, columns, rows)


def _through(values: dict[str, float | None], before: str, after: str) -> float:
    """The share of both paths that begin and end so."""
    return sum(values.get(f"{before}_{middle}_{after}") or 0.0 for middle in ("right", "wrong"))


def _point(at: float | None, estimate: Estimate) -> CurvePoint:
    return CurvePoint(at or 0.0, estimate.value, estimate.low, estimate.high, estimate.n)


def _of(cells: Iterable[Cell], metric: str) -> list[Cell]:
    return [cell for cell in cells if cell.estimate.metric == metric]


def _first(cells: Iterable[Cell], metric: str) -> Estimate | None:
    return next((cell.estimate for cell in cells if cell.estimate.metric == metric), None)


def _by_noise(cells: Iterable[Cell]) -> dict[float, list[Cell]]:
    found: dict[float, list[Cell]] = {}
    for cell in cells:
        ratio = cell.place.get("noise")
        if ratio is not None:
            found.setdefault(ratio, []).append(cell)
    return dict(sorted(found.items()))


def _lowest(cells: Sequence[Cell]) -> list[Cell]:
    by_ratio = _by_noise(cells)
    return next(iter(by_ratio.values()), [])


def _stack_words(words: Locale, figure: str, panel: Panel) -> StackWords:
    return StackWords(_title(words, figure, panel), words(f"figures.{figure}.desc"), words("figures.model"))


def _heat_words(words: Locale, figure: str, panel: Panel, columns: str) -> HeatWords:
    told = (_title(words, figure, panel), words(f"figures.{figure}.desc"))
    return HeatWords(*told, words("figures.model"), words(f"figures.{columns}"))


def _title(words: Locale, figure: str, panel: Panel) -> str:
    data = panel.data
    if panel.is_one_of_two:
        data = words("figures.data_lang", data=data, lang=words(f"summary.lang.{panel.lang}"))
    of = words("figures.of", data=data, k=panel.k, profile=panel.profile)
    return words(f"figures.{figure}.title", of=of)


def _name(figure: str, panel: Panel) -> str:
    return f"{figure}-{safe_name(f'{panel.data}-{panel.profile}')}-{panel.lang}-{panel.k}"
