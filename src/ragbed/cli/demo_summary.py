"""Print the summary of `ragbed demo`: a table for each language and model, and the result in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ragbed.cli.console import console, print_table

if TYPE_CHECKING:
    from ragbed.analysis.overview import ConditionRow

_TITLES: Mapping[str, str] = {
    "en": "\n{model}, English: percentage of n, by noise ratio (none: no documents)",
    "zh": "\n{model}，中文：占 n 的百分比，按噪声比例（none：不提供文档）",
}
_CLOSED: Mapping[str, Mapping[str, str]] = {
    "en": {"base": "news", "int": "news in two parts", "fact": "real-world facts"},
    "zh": {"base": "新闻", "int": "两部分的新闻", "fact": "真实世界的事实"},
}
_MEANING: Mapping[str, str] = {
    "en": (
        "\nIn words: {model} answers {clean} of the questions correctly with two documents that contain the "
        "answer, {noisy} if one of them is a distractor, and {news} without documents. It declines to answer in "
        "{declined} of the cases in which no document contains the answer, and repeats the false answer from "
        "counterfactual documents in {misled}. With {n} questions per condition, these are rough figures."
    ),
    "zh": (
        "\n结论：两篇文档都含答案时，{model} 的正确率为 {clean}；其中一篇换成干扰文档时为 {noisy}；"
        "不提供文档时为 {news}。文档都不含答案时，模型的拒答率为 {declined}；"
        "文档内容有误时，模型在 {misled} 的用例中照搬错误答案。每项只有 {n} 个问题，数字仅供参考。"
    ),
}
_TRUNCATED: Mapping[str, str] = {
    "en": " Truncated responses ({count} of {all}) count as wrong.",
    "zh": "{all} 个用例中有 {count} 个的回答被截断，按答错计算。",
}


def print_summary(cells: Sequence[ConditionRow]) -> None:
    """Print the robust scorer's scores as in the report, and explain the first model's scores in each language."""
    for lang in sorted({cell.condition.lang for cell in cells}):
        models = {cell.condition.model for cell in cells if cell.condition.lang == lang}
        for place, model in enumerate(sorted(models, key=lambda name: (name.startswith("baseline"), name))):
            chosen = [cell for cell in cells if (cell.condition.lang, cell.condition.model) == (lang, model)]
            _print_table(chosen, lang, model)
            if not place:
                meaning = _MEANING[lang].format(model=model, **_figures(chosen))
                if truncated := sum(cell.truncated for cell in chosen):
                    meaning += _TRUNCATED[lang].format(count=truncated, all=sum(cell.asked for cell in chosen))
                console().print(meaning)


def _print_table(cells: Sequence[ConditionRow], lang: str, model: str) -> None:
    from ragbed.cli.results import headline_of
    from ragbed.testbeds import DEFAULT_TESTBEDS

    ratios = [*sorted({cell.condition.noise for cell in cells if cell.condition.noise is not None}), None]
    more = [name for name in ("truncated", "filtered") if any(getattr(cell, name) for cell in cells)]
    rows = []
    for testbed in DEFAULT_TESTBEDS:
        score, counted = headline_of(testbed)
        for data in sorted({cell.condition.data for cell in cells if cell.condition.testbed == testbed}):
            row = [cell for cell in cells if (cell.condition.testbed, cell.condition.data) == (testbed, data)]
            rates = {cell.condition.noise: f"{100 * cell.rate(counted):.0f}" for cell in row}
            name = f"{testbed}, {_CLOSED[lang][_kind(data)]}" if testbed == "closed-book" else testbed
            counts = [sum(getattr(cell, count) for cell in row) for count in ("asked", "error", *more)]
            rows.append((name, score, *counts, *(rates.get(ratio, "–") for ratio in ratios)))
    ratio_names = ("none" if ratio is None else f"{ratio:.2g}" for ratio in ratios)
    columns = ("testbed", "score", "n", "errors", *more, *ratio_names)
    print_table(_TITLES[lang].format(model=model), columns, rows)


def _figures(cells: Sequence[ConditionRow]) -> dict[str, str]:
    """Return the percentages and the number of cases that the summary mentions, keyed by placeholder."""

    def rate(testbed: str, kind: str, noise: float | None, counted: str) -> str:
        wanted = (testbed, kind, noise)
        found = [
            cell
            for cell in cells
            if (cell.condition.testbed, _kind(cell.condition.data), cell.condition.noise) == wanted
        ]
        return f"{100 * found[0].rate(counted):.0f}%" if found else "–"

    return {
        "clean": rate("noise", "base", 0.0, "correct"),
        "noisy": rate("noise", "base", 0.5, "correct"),
        "declined": rate("rejection", "base", 1.0, "refused"),
        "misled": rate("counterfactual", "fact", 0.0, "misled"),
        "news": rate("closed-book", "base", None, "correct"),
        "n": str(max(cell.asked for cell in cells)),
    }


def _kind(data: str) -> str:
    """Return a dataset's kind: base, int or fact."""
    return data.rpartition("_")[2]
