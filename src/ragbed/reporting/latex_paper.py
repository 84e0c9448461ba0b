"""Write the paper's Tables 1, 3, 5 and 7 in LaTeX, with our rows below the paper's.

Our values always use the `code` track, because only this track is comparable with the paper. Rej*, ED* and CR are
a judge's verdicts. They require `ragbed judge`, preferably with the original instructions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ragbed.analysis.metrics.cells import JUDGED, Cell
from ragbed.analysis.paper.tables import PaperTable, inferred_rows, read_tables
from ragbed.reporting.numbers import count_cases, show_incomplete
from ragbed.reporting.tables import PAPER_DATA, PAPER_DOCS, PAPER_PROFILE, PAPER_TRACK
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
            {"Rej": ("rejection", "refusal_recall", 1.0)},
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
                "CR": ("counterfactual", "corrected_of_flagged", 0.0),
            },
            {
                "ED*": ("code.ed_star", "flag"),
                "CR": ("code.ed_star_then_correct", "flag_then_correct"),
            },
        ),
    ]


class _Ours(NamedTuple):
    """A row for one model, dataset, profile and number of documents; both languages share the row."""

    model: str
    data: str
    profile: str
    k: int


_Row: TypeAlias = dict[tuple[str, str], Estimate]  # Estimates by language and column.


def write_paper_tables(cells: Sequence[Cell], text: Callable[[str], str]) -> Iterator[str]:
    """Yield the tables to which at least one of our rows can be added.

    Args:
        cells: Cells of all tracks.
        text: Function that escapes a name for LaTeX.
    """
    usual = [
        cell for cell in cells if cell.scope == "all" and not cell.place.get("arm") and not cell.place.get("correct")
    ]
    counted = [cell for cell in usual if cell.track == PAPER_TRACK]
    judged = [cell for cell in usual if cell.track.startswith(JUDGED)]
    for shape in shapes():
        rows = _rows(counted, shape)
        if rows:
            judge = _add_judged(rows, judged, shape)
            yield "\n".join(_write(shape, rows, judge, text))


def small(text: str) -> str:
    """Return text in a small font, for the line below a value."""
    return rf"{{\tiny {text}}}"


def _add_judged(rows: dict[_Ours, _Row], cells: Sequence[Cell], shape: TableShape) -> str:
    """Add the judged values to the rows, and return the judges and their instructions.

    Each row uses only the first judge, with the original instructions if verdicts exist for both. If there is a judge,
    rule-based values are removed from the judged columns, so that each column has one definition.
    """
    of_row: dict[_Ours, list[Cell]] = {}
    for cell in cells:
        if cell.table == shape.table:
            of_row.setdefault(_ours_of(cell, cell.place.get("k") or 0), []).append(cell)
    judges: dict[str, None] = {}
    filled: dict[_Ours, _Row] = {}
    for ours in rows.keys() & of_row.keys():
        for place, whose in enumerate(("the original", "our")):
            wanted = {metrics[place]: column for column, metrics in shape.judged.items()}
            found = [cell for cell in of_row[ours] if cell.estimate.metric in wanted]
            if found:
                judges[f"{found[0].track.removeprefix(JUDGED)} by {whose} instructions"] = None
                filled[ours] = {
                    (cell.key.lang, wanted[cell.estimate.metric]): cell.estimate
                    for cell in found
                    if cell.track == found[0].track and cell.estimate.value is not None
                }
                break
    for ours, row in rows.items() if judges else ():
        for lang, column in [at for at in row if at[1] in shape.judged]:
            del row[lang, column]
        row.update(filled.get(ours, {}))
    return ", ".join(sorted(judges))


def _ours_of(cell: Cell, k: int) -> _Ours:
    return _Ours(cell.key.model, _stem(cell.key.data, cell.key.lang), cell.key.profile, k)


def _rows(cells: Sequence[Cell], shape: TableShape) -> dict[_Ours, _Row]:
    wanted = {place: column for column, place in shape.cells.items()}
    asked = {cell.key for cell in cells if cell.table == shape.table}
    rows: dict[_Ours, _Row] = {}
    closed: list[tuple[Cell, str]] = []
    for cell in cells:
        column = wanted.get((cell.table, cell.estimate.metric, cell.place.get("noise")))
        if column is None or cell.key not in asked:
            continue
        k = cell.place.get("k")
        if k is None:
            closed.append((cell, column))
        else:
            rows.setdefault(_ours_of(cell, k), {})[cell.key.lang, column] = cell.estimate
    for cell, column in closed:  # Closed-book values do not depend on the number of documents.
        for ours, row in rows.items():
            if ours == _ours_of(cell, ours.k):
                row[cell.key.lang, column] = cell.estimate
    return rows


def _stem(data: str, lang: str) -> str:
    """Return a dataset's name without its language, so that both languages share a row."""
    return re.sub(rf"(?<![A-Za-z]){lang}(?![A-Za-z])", "*", data)


def _write(shape: TableShape, rows: dict[_Ours, _Row], judge: str, text: Callable[[str], str]) -> Iterator[str]:
    printed: PaperTable = getattr(read_tables(), shape.table)
    langs = [lang for lang in _LANGS if getattr(printed, lang)]
    # The n of closed-book cells differs from the n of the other cells in the row.
    counting = [
        place for place, column in enumerate(printed.columns) if shape.cells.get(column, ("",))[0] == shape.table
    ]
    comparable = {ours: _is_comparable(ours, shape) for ours in rows}
    if shape.judged and not judge:
        yield _HOW
    yield r"\begin{table*}\centering\small"
    yield rf"\caption{{{shape.caption}. {_note(comparable, shape, text(judge))}}}"
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
    for ours, row in rows.items():
        mark = r"$^\dagger$" if comparable[ours] else ""
        picked = [[row.get((lang, column)) for column in printed.columns] for lang in langs]
        yield from _ours(ours, mark, picked, counting, text)
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
    ours: _Ours, mark: str, langs: list[list[Estimate | None]], counting: list[int], text: Callable[[str], str]
) -> Iterator[str]:
    """Yield two lines: the values with n for each language and, below them, the dataset and confidence intervals."""
    values, under = [f"{text(ours.model)}{mark}"], [small(text(_data(ours)))]
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


def _data(ours: _Ours) -> str:
    return f"{ours.data}, {ours.profile}" + ("" if ours.k == PAPER_DOCS else f", {ours.k} documents")


def _is_comparable(ours: _Ours, shape: TableShape) -> bool:
    stems = {_stem(data, data[:2]) for data in PAPER_DATA[shape.table]}
    return ours.data in stems and ours.profile == PAPER_PROFILE and ours.k == PAPER_DOCS


def _note(comparable: dict[_Ours, bool], shape: TableShape, judge: str) -> str:
    note = (
        r"Above: Chen et al. (2024), as printed. Below: ours, with the original code's verdicts, failures included in "
        r"$n$ (the original code leaves them out), with 95\,\% intervals by question"
    )
    if shape.table == "rejection":
        note += r"; Rej counts refusals only, while \texttt{all\_rate} of the original code adds correct answers"
    if judge:
        note += f"; {' and '.join(shape.judged).replace('*', '{*}')} as judged: {judge}"
    elif shape.judged:
        note += "; the starred columns require a judge, and none was used"
        note += (
            r", so CR is the share of correct answers among the cases that ED counts, while \texttt{correct\_rate} of "
            "the original code adds refusals"
            if "CR" in shape.judged
            else ""
        )
    if inferred_rows(shape.table):
        note += (
            r"; $^\ddagger$ one value is not a whole number out of this $n$; we infer that failed calls were left out"
        )
    if any(comparable.values()):
        note += r"; $^\dagger$ comparable with the paper: the same files, document layout and scoring"
    if not all(comparable.values()):
        note += r"; ours without $^\dagger$" if any(comparable.values()) else "; ours"
        note += r" are \emph{not comparable} with the rows above: different files or document layout"
    return note + "."
