"""Write the paper's Tables 1, 3, 5 and 7 in LaTeX, with our comparable rows below the paper's.

Our values always use the `code` scorer, because only this scorer is comparable with the paper. Rej* and ED* are judge
verdicts. They require `ragbed judge`, preferably with the original instructions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ragbed.analysis.metrics.cells import JUDGED, Cell
from ragbed.analysis.paper.tables import PaperTable, inferred_rows, read_tables
from ragbed.reporting.numbers import count_cases, show_incomplete
from ragbed.reporting.tables import PAPER_SCORER, Published, is_complete, is_paper_setting
from ragbed.schema import Estimate

_LANGS = {"en": "English", "zh": "Chinese"}
# The start of a table that is scaled down if it is too wide; a closing brace ends the table.
FIT = r"\setlength{\tabcolsep}{4pt}\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%"
SPACE = r"\addlinespace[2pt]"  # Vertical space between rows of our results, each of which takes up two lines.
_HOW = (
    "% For the starred columns, run: ragbed judge RUN -m MODEL --criteria code.rej_star,code.ed_star; then "
    "create the report again."
)


class TableShape(NamedTuple):
    """One of the paper's tables.

    For each column, `cells` has the table, metric and noise ratio of our value. `judged` has the judged metrics for a
    column: one with the original instructions, and one with ours.
    """

    number: int
    table: str
    caption: str
    cells: dict[str, tuple[str, str, float | None]]
    judged: dict[str, tuple[str, ...]]


def _accuracy(table: str, columns: Sequence[str]) -> dict[str, tuple[str, str, float | None]]:
    return {column: (table, "accuracy", float(column)) for column in columns}


def shapes() -> list[TableShape]:
    """Return the layouts of the paper's four tables."""
    printed = read_tables()
    return [
        TableShape(
            1, "noise", "Noise robustness: accuracy (\\%) by noise ratio", _accuracy("noise", printed.noise.columns), {}
        ),
        TableShape(
            3,
            "rejection",
            "Negative rejection (\\%)",
            {"Rej": ("rejection", "all_rate", 1.0)},
            {"Rej*": ("code.rej_star", "refusal")},
        ),
        TableShape(
            5,
            "integration",
            "Information integration: accuracy (\\%) by noise ratio",
            _accuracy("integration", printed.integration.columns),
            {},
        ),
        TableShape(
            7,
            "counterfactual",
            "Counterfactual robustness (\\%)",
            {
                "Acc": ("closed-book", "accuracy", None),
                "Acc_doc": ("counterfactual", "accuracy", 0.0),
                "ED": ("counterfactual", "error_detection", 0.0),
                "CR": ("counterfactual", "correct_rate", 0.0),
            },
            {
                "ED*": ("code.ed_star", "flag"),
                "CR": ("code.ed_star_then_correct", "flag_then_correct"),
            },
        ),
    ]


_Row: TypeAlias = dict[tuple[str, str], Estimate]  # A model's estimates by language and column.


def write_paper_tables(cells: Sequence[Cell], published: Published, text: Callable[[str], str]) -> Iterator[str]:
    """Yield the tables to which at least one of our rows can be added.

    Args:
        cells: Cells of all scorers.
        published: Names of RGB's files, by model and dataset.
        text: Function that escapes a name for LaTeX.
    """
    usual = [
        cell for cell in cells if cell.scope == "all" and not cell.place.get("arm") and not cell.place.get("correct")
    ]
    for shape in shapes():
        same = [cell for cell in usual if is_paper_setting(cell.table, cell.key, cell.place.get("k"), published)]
        rows = _rows([cell for cell in same if cell.scorer == PAPER_SCORER], shape)
        if rows:
            judge = _add_judged(rows, [cell for cell in same if cell.scorer.startswith(JUDGED)], shape)
            yield "\n".join(_write(shape, rows, judge, text))


def small(text: str) -> str:
    """Return text in a small font, for the line below a value."""
    return rf"{{\tiny {text}}}"


def _add_judged(rows: dict[str, _Row], cells: Sequence[Cell], shape: TableShape) -> str:
    """Add the judged values to the rows, and return the judges and their instructions.

    Each row uses only the first judge, with the original instructions if verdicts exist for both. If there is a judge,
    rule-based values are removed from the judged columns, so that each column has one definition.
    """
    judges: dict[str, None] = {}
    filled: dict[str, _Row] = {}
    for model in rows:
        own = [cell for cell in cells if (cell.key.model, cell.table) == (model, shape.table)]
        for place, whose in enumerate(("the original", "our")):
            wanted = {metrics[place]: column for column, metrics in shape.judged.items()}
            found = [cell for cell in own if cell.estimate.metric in wanted]
            if found:
                judges[f"{found[0].scorer.removeprefix(JUDGED)} by {whose} instructions"] = None
                filled[model] = {
                    (cell.key.lang, wanted[cell.estimate.metric]): cell.estimate
                    for cell in found
                    if cell.scorer == found[0].scorer and cell.estimate.value is not None
                }
                break
    for model, row in rows.items() if judges else ():
        for lang, column in [at for at in row if at[1] in shape.judged]:
            del row[lang, column]
        row.update(filled.get(model, {}))
    return ", ".join(sorted(judges))


def _rows(cells: Sequence[Cell], shape: TableShape) -> dict[str, _Row]:
    """Return the rows by model, with the languages for which all questions of the paper's file have a result."""
    wanted = {place: column for column, place in shape.cells.items()}
    found: dict[tuple[str, str, str], _Row] = {}
    for cell in cells:
        column = wanted.get((cell.table, cell.estimate.metric, cell.place.get("noise")))
        if column is not None:
            found.setdefault((cell.key.model, cell.key.lang, cell.table), {})[cell.key.lang, column] = cell.estimate
    rows: dict[str, _Row] = {}
    for (model, lang, table), row in found.items():
        own = found.get((model, lang, shape.table), {})
        if is_complete(shape.table, own.values()) and is_complete(table, row.values()):
            rows.setdefault(model, {}).update(row)
    return rows


def _write(shape: TableShape, rows: dict[str, _Row], judge: str, text: Callable[[str], str]) -> Iterator[str]:
    printed: PaperTable = getattr(read_tables(), shape.table)
    langs = [lang for lang in _LANGS if getattr(printed, lang)]
    # The n of closed-book cells differs from the n of the other cells in the row.
    counting = [
        place for place, column in enumerate(printed.columns) if shape.cells.get(column, ("",))[0] == shape.table
    ]
    if shape.judged and not judge:
        yield _HOW
    yield r"\begin{table*}\centering\small"
    yield rf"\caption{{{shape.caption}. {_note(shape, text(judge))}}}"
    yield rf"\label{{tab:rgb-{shape.number}}}\par\smallskip"
    yield FIT
    width = len(printed.columns) + 1
    yield rf"\begin{{tabular}}{{l{'r' * width * len(langs)}}}"
    yield r"\toprule"
    heads = [rf"\multicolumn{{{width}}}{{c}}{{{_LANGS[lang]}}}" for lang in langs]
    yield " & ".join(["", *heads]) + r" \\"
    for place in range(len(langs)):
        yield rf"\cmidrule(lr){{{2 + place * width}-{1 + (place + 1) * width}}}"
    names = [text(column).replace("Acc\\_doc", r"Acc\textsubscript{doc}") for column in printed.columns]
    yield " & ".join(["Model", *([*names, "$n$"] * len(langs))]) + r" \\"
    yield r"\midrule"
    yield from _printed(printed, langs, shape, text)
    yield r"\midrule"
    for model, row in rows.items():
        picked = [[row.get((lang, column)) for column in printed.columns] for lang in langs]
        yield from _ours(model, picked, counting, text)
    yield r"\bottomrule"
    yield r"\end{tabular}}"
    yield r"\end{table*}"


def _printed(printed: PaperTable, langs: Sequence[str], shape: TableShape, text: Callable[[str], str]) -> Iterator[str]:
    models = dict.fromkeys(model for lang in langs for model in getattr(printed, lang))
    n, inferred = read_tables().questions[shape.table], inferred_rows(shape.table)
    for model in models:
        cells = []
        for lang in langs:
            values = getattr(printed, lang).get(model)
            cells += [f"{value:.2f}" for value in values or ()] or ["--"] * len(printed.columns)
            mark = r"$^\ddagger$" if (lang, model) in inferred else ""
            cells.append("--" if values is None else f"{n}{mark}")
        yield " & ".join([text(model), *cells]) + r" \\"


def _ours(
    model: str, langs: list[list[Estimate | None]], counting: list[int], text: Callable[[str], str]
) -> Iterator[str]:
    """Yield two lines: the values with n for each language and, below them, the confidence intervals."""
    values, under = [text(model)], [""]
    for found in langs:
        counts = count_cases(found[place] for place in counting)
        values += ["--" if one is None or one.value is None else f"{100 * one.value:.2f}" for one in found]
        values.append(text(str(counts.n)) if counts.n.high else "--")
        under += [_bounds(one) for one in found]
        under.append(small(text(show_incomplete(counts))))
    yield " & ".join(values) + r" \\"
    yield " & ".join(under) + r" \\"
    yield SPACE


def _bounds(one: Estimate | None) -> str:
    if one is None or one.low is None or one.high is None:
        return ""
    return small(f"{100 * one.low:.1f}--{100 * one.high:.1f}")


def _note(shape: TableShape, judge: str) -> str:
    note = (
        r"Above: Chen et al. (2024), as printed. Below: ours, with the same files, document order and scoring, and "
        r"95\,\% intervals by question"
    )
    if shape.table == "rejection":
        note += r"; Rej is \texttt{all\_rate} of the original code, which adds correct answers to the refusals"
    if judge:
        note += f"; {' and '.join(shape.judged).replace('*', '{*}')} as judged: {judge}"
    elif shape.judged:
        note += "; the starred columns require a judge, and none was used"
        if "CR" in shape.judged:
            note += (
                r", so CR is \texttt{correct\_rate} of the original code: the share of correct answers and refusals "
                "among the cases that ED counts"
            )
    if inferred_rows(shape.table):
        note += (
            r"; $^\ddagger$ one value is not a whole number out of this $n$; we infer that failed calls were left out"
        )
    return note + "."
