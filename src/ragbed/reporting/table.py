"""Tables, of which every result consists, with one renderer for each format."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from ragbed.errors import UsageError, did_you_mean
from ragbed.text import printable

if TYPE_CHECKING:
    import pandas

    from ragbed.reporting.pages.markup import Child, Node

_MOST_ROWS = 60  # Maximum number of rows to show in a notebook or a Python console.
_LONGEST = 80  # Maximum number of characters of a cell that is shown there.
_STYLE = """
.ragbed td, .ragbed th {text-align: left; white-space: nowrap; padding: 2px 12px 2px 0}
.ragbed caption {caption-side: top; text-align: left; font-weight: bold; padding: 12px 0 2px 0}
.ragbed .interval, .ragbed p {opacity: 0.65; font-size: 90%}
"""


@dataclass(frozen=True)
class Shown:
    """A number as text: its value, its confidence interval and a note.

    Attributes:
        value: The value.
        interval: The interval in brackets, or an empty string.
        note: A qualification in parentheses, e.g. "(at least)".
        number: The number by which tables on pages are sorted.
        title: Text that pages show if the pointer is on the number.
    """

    value: str
    interval: str = ""
    note: str = ""
    number: float | None = None
    title: str | None = None

    def __str__(self) -> str:
        return " ".join(filter(None, (self.value, self.interval, self.note)))


Cell: TypeAlias = str | int | float | Shown | None


class Table(Sequence[dict[str, Any]]):
    """A list of rows as plain dictionaries, shown as a table when printed or displayed in a notebook.

    Convert the list with `pandas.DataFrame(table)` or `polars.DataFrame(list(table))`.

    Args:
        rows: Table rows, as dictionaries. Missing keys are shown as empty cells.
        title: Heading of the printed table.
        shown: Rows to print instead of `rows`, e.g. rows with confidence intervals.
        columns: Columns to show even if there are no rows.
        meanings: Explanations of columns, by heading.
        notes: Sentences to print below the table.

    Example:
        >>> table = ragbed.Table([{"model": "a", "accuracy": 0.9}, {"model": "b", "accuracy": 0.8}])
        >>> [row["model"] for row in table if row["accuracy"] > 0.85]
        ['a']
    """

    def __init__(
        self,
        rows: Iterable[Mapping[str, Any]],
        title: str = "",
        shown: Iterable[Mapping[str, Any]] | None = None,
        columns: Sequence[str] = (),
        meanings: Mapping[str, str] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        self._rows, self._leading = [dict(row) for row in rows], columns
        self._shown: list[Mapping[str, Any]] = [*self._rows] if shown is None else [dict(row) for row in shown]
        self.title, self.meanings, self.notes = title, dict(meanings or {}), list(notes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the keys of all rows in order of first appearance."""
        return tuple(dict.fromkeys([*self._leading, *(key for row in self._rows for key in row)]))

    @property
    def headings(self) -> list[str]:
        """Return the headings of the printed columns."""
        return list(dict.fromkeys([*self._leading, *(key for row in self._shown for key in row)]))

    @property
    def cells(self) -> list[list[Cell]]:
        """Return the cells of the printed rows."""
        headings = self.headings
        return [[row.get(heading) for heading in headings] for row in self._shown]

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        return self._rows[index]

    def __len__(self) -> int:
        return len(self._rows)

    def __eq__(self, other: object) -> bool:
        return list(self) == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None  # type: ignore[assignment]  # rows are mutable

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas  # noqa: PLC0415 - an extra
        except ImportError:
            raise UsageError("to_pandas() requires pandas: pip install 'ragbed[pandas]'") from None
        return pandas.DataFrame(self._rows, columns=list(self.columns))

    def __repr__(self) -> str:
        brief, rest = self._brief()
        return "\n".join(filter(None, [write_text(brief), rest]))

    def _repr_html_(self) -> str:
        """Return the table as HTML for notebooks, with escaped values."""
        from ragbed.reporting.pages.markup import el, raw, write  # noqa: PLC0415 - only notebooks use it

        brief, rest = self._brief()
        table = table_node(brief.headings, brief.cells, self.title, is_captioned=True)
        return write(el("div", raw("style", _STYLE), table, el("p", rest) if rest else None, class_="ragbed"))

    def _brief(self) -> tuple[Table, str]:
        """Return the first rows with shortened texts, and a text with the number of the other rows."""
        rows = [
            {key: f"{cell[: _LONGEST - 1]}…" if isinstance(cell, str) and len(cell) > _LONGEST else cell
             for key, cell in row.items()}
            for row in self._shown[:_MOST_ROWS]
        ]  # fmt: skip
        hidden = len(self._shown) - _MOST_ROWS
        rest = f"… {hidden:,} more rows" if hidden > 0 else "" if rows else "No rows"
        return Table(rows, self.title, columns=self._leading), rest


_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


def group_by(items: Iterable[_Item], key: Callable[[_Item], _Key]) -> dict[_Key, list[_Item]]:
    """Return items by their keys, in order of first appearance."""
    groups: dict[_Key, list[_Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def compact(
    rows: Sequence[Mapping[str, Cell]], keys: Iterable[str], counts: Iterable[str] = ()
) -> tuple[str, list[dict[str, Cell]]]:
    """Remove the columns among `keys` that have only one value, and those among `counts` that are 0 in all rows.

    Returns:
        The common values as text, to be added to a title, and the rows without these columns.
    """
    dropped = {count for count in counts if not any(row.get(count) for row in rows)}
    shared = ""
    for key in keys if rows else ():
        values = {show_cell(row.get(key)) for row in rows} - {"", "–"}
        if len(values) <= 1:
            dropped.add(key)
            shared += "".join(f" · {key} {value}" for value in values)
    return shared, [{key: cell for key, cell in row.items() if key not in dropped} for row in rows]


def show_cell(cell: Any) -> str:  # noqa: ANN401 - rows can have any values
    """Return a cell as text, with thousands separators in counts and a dash for a missing value."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, float):
        return f"{cell:.3g}"
    return f"{cell:,}" if type(cell) is int else str(cell)


def write_text(table: Table, room: float = math.inf, strong: Callable[[str], str] = str) -> str:
    """Return a table as text.

    Args:
        table: The table.
        room: Width of the terminal in characters; the table fits it if possible.
        strong: Function that marks a line of the title or the headings as bold.
    """
    from ragbed.reporting.text_table import draw_table, rule  # noqa: PLC0415 - loads rich

    rows = [[printable(show_cell(cell)) for cell in row] for row in table.cells]
    drawn = draw_table([printable(heading) for heading in table.headings], rows, room)
    lines = [strong(printable(table.title))] if table.title else []
    for number, (heading, body) in enumerate(drawn if table.headings else ()):
        lines += [""] if number else []
        lines += [*map(strong, heading), rule(heading), *body]
    return "\n".join(lines)


_MARKUP = re.compile(r"([\\`*_\[\]<>|#~])")


def escape_markdown(text: str) -> str:
    """Escape a text for Markdown, so that it contains no markup or line breaks."""
    return _MARKUP.sub(r"\\\1", printable(" ".join(text.split())))


def write_markdown(table: Table) -> str:
    """Return a table as Markdown, with columns of numbers aligned to the right."""
    rows = [
        [str(cell).replace("*", "\\*") if isinstance(cell, Shown) else escape_markdown(show_cell(cell)) for cell in row]
        for row in table.cells
    ]
    alignments = ["--:" if is_right else ":--" for is_right in find_numeric(table.cells, len(table.headings))]
    lines = [[escape_markdown(heading) for heading in table.headings], alignments, *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def find_numeric(rows: Sequence[Sequence[Any]], count: int) -> list[bool]:
    """Return, for each of `count` columns, whether it contains nothing but numbers and dashes."""
    return [bool(rows) and all(_is_number(row[at]) for row in rows) for at in range(count)]


def _is_number(cell: Any) -> bool:  # noqa: ANN401 - rows can have any values
    if isinstance(cell, str):
        return cell == "–" or cell[:1].isdigit() or (cell[:1] in "-<−+" and cell[1:2] != "")
    return cell is None or isinstance(cell, Shown | int | float)


def table_node(
    headings: Sequence[str],
    rows: Sequence[Sequence[Cell | Child]],
    label: str,
    *,
    class_: str | None = None,
    is_captioned: bool = False,
) -> Node:
    """Return a table as HTML that scrolls if it is too wide; columns of numbers are aligned to the right.

    Args:
        headings: Headings.
        rows: Cells, which can also be HTML elements.
        label: Label for screen readers.
        class_: CSS class; with `cards`, phones show each row as a card, with the headings beside the cells.
        is_captioned: Whether the label is also shown as a caption.
    """
    from ragbed.reporting.pages.markup import el  # noqa: PLC0415 - only pages use it

    right = find_numeric(rows, len(headings))
    head = [el("th", name, scope="col", class_="number" if right[at] else None) for at, name in enumerate(headings)]
    body = [
        el("tr", [
            el(
                "td",
                _html_cell(cell),
                class_="number" if right[at] else "short" if isinstance(cell, str) and len(cell) <= _SHORT else None,
                data_label=headings[at] if class_ else None,
            )
            for at, cell in enumerate(row)
        ])
        for row in rows
    ]  # fmt: skip
    caption = el("caption", label) if is_captioned else None
    inner = el("table", caption, el("thead", el("tr", head)), el("tbody", body), class_=class_)
    return el("div", inner, class_="scroll", tabindex="0", role="region", aria_label=label)


_SHORT = 8  # Maximum number of characters in a table cell whose text is not wrapped.


def _html_cell(cell: Any) -> Child:  # noqa: ANN401 - rows can have any values
    from ragbed.reporting.pages.markup import Node, el  # noqa: PLC0415 - only pages use it

    if isinstance(cell, Node):
        return cell
    if not isinstance(cell, Shown):
        return show_cell(cell)
    parts = [el("span", f" {part}", class_="interval") for part in (cell.interval, cell.note) if part]
    number = None if cell.number is None else f"{cell.number:.6f}".rstrip("0").rstrip(".")
    return el("span", cell.value, parts, title=cell.title, data_value=number)


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(rows: Sequence[Mapping[str, object]]) -> str:
    """Return rows as CSV. Text that a spreadsheet would execute as a formula is escaped."""
    sink = io.StringIO()
    names = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.writer(sink, lineterminator="\n")
    if rows:
        writer.writerow(names)
        writer.writerows([_harmless(row.get(name)) for name in names] for row in rows)
    return sink.getvalue()


def _harmless(value: object) -> object:
    if not isinstance(value, str):
        return value
    return printable(f"'{value}" if value.startswith(_FORMULA) else value)


def write_json(rows: object) -> str:
    """Return rows as an indented JSON list. Control characters are escaped, so that they can be read back."""
    import msgspec  # noqa: PLC0415 - loaded by everything else that writes reports

    return printable(msgspec.json.format(msgspec.json.encode(rows), indent=1).decode()) + "\n"


def list_meanings(tables: Iterable[Table]) -> Iterator[str]:
    """Yield the explanations of the columns of some tables, each once."""
    meanings = {heading: meaning for table in tables for heading, meaning in table.meanings.items()}
    if meanings:
        yield "Columns:"
        yield from (f"  {heading}: {meaning}" for heading, meaning in meanings.items())


class Result:
    """The result of a function: tables and texts, sentences about them, and values by name.

    `records()` returns the rows of the main table, `result["name"]` returns a value, and notebooks show all tables.

    Args:
        parts: Tables and texts, as the command prints them; the first table is the main one.
        notes: Sentences about the result.
        values: The result by name, as the command prints it with `--json`.
        exit_code: Exit code of the command: 0 if the result is complete and no gate failed.
        main: The main table, if it is not among the parts.
    """

    def __init__(
        self,
        parts: Iterable[Table | str],
        notes: Iterable[str] = (),
        values: Mapping[str, Any] | None = None,
        exit_code: int = 0,
        main: Table | None = None,
    ) -> None:
        self.parts, self.notes, self.exit_code, self._main = list(parts), list(notes), exit_code, main
        self.values = {} if values is None else dict(values)

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401 - a value of any type
        if name not in self.values:
            raise UsageError(f"the result has no value {name!r}.{did_you_mean(name, self.values)}")
        return self.values[name]

    def tables(self) -> list[Table]:
        """Return all tables."""
        return [part for part in self.parts if isinstance(part, Table)]

    def records(self) -> Table:
        """Return the main table."""
        return self.tables()[0] if self._main is None else self._main

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of the main table as a DataFrame. Requires `ragbed[pandas]`."""
        return self.records().to_pandas()

    def __repr__(self) -> str:
        return "\n\n".join([*(part if isinstance(part, str) else repr(part) for part in self.parts), *self.notes])

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self.tables())
