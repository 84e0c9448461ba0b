"""What API functions return: rows of plain values, and runs."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, overload

from ragbed.errors import UsageError

if TYPE_CHECKING:
    import pandas

_MAX_ROWS = 60
_CELL = "text-align: left; white-space: nowrap; padding: 2px 12px 2px 0"
_CAPTION = "caption-side: top; text-align: left; font-weight: bold; padding: 12px 0 2px 0"
_FAINT = "opacity: 0.65; font-size: 90%"


class Records(Sequence[dict[str, Any]]):
    """Rows as dictionaries of plain values: a list for programs, a table when printed or shown in a notebook.

    `pandas.DataFrame(records)` and `polars.DataFrame(list(records))` read it; `to_pandas()` needs `ragbed[pandas]`.

    Args:
        rows: The rows. Keys that a row lacks are empty in the table.
        title: Heading of the printed table.
        shown: The rows to print instead, e.g. with intervals beside the values.

    Example:
        >>> records = ragbed.Records([{"model": "a", "accuracy": 0.9}, {"model": "b", "accuracy": 0.8}])
        >>> [row["model"] for row in records if row["accuracy"] > 0.85]
        ['a']
    """

    def __init__(
        self, rows: Iterable[Mapping[str, Any]], title: str = "", shown: Iterable[Mapping[str, Any]] | None = None
    ) -> None:
        self._rows = [dict(row) for row in rows]
        self._shown = self._rows if shown is None else [dict(row) for row in shown]
        self.title = title

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the keys of all rows, in the order in which they appear."""
        return _columns(self._rows)

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

    __hash__ = None  # type: ignore[assignment]  # rows can change

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows as a DataFrame.

        Raises:
            UsageError: pandas is not installed.
        """
        try:
            import pandas
        except ImportError:
            raise UsageError("to_pandas needs pandas. Install it with: pip install 'ragbed[pandas]'") from None
        return pandas.DataFrame(self._rows, columns=list(self.columns))

    def __repr__(self) -> str:
        columns = _columns(self._shown)
        lines = [columns, *(tuple(_text(row.get(column)) for column in columns) for row in self._shown[:_MAX_ROWS])]
        widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
        text = [
            "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
        ]
        return "\n".join(filter(None, [self.title, *text, self._rest()]))

    def _repr_html_(self) -> str:
        """Return the table as a notebook shows it; values are escaped."""
        columns = _columns(self._shown)
        head = "".join(f"<th style='{_CELL}'>{html.escape(column)}</th>" for column in columns)
        rows = (
            "<tr>"
            + "".join(f"<td style='{_CELL}'>{_markup(_text(row.get(column)))}</td>" for column in columns)
            + "</tr>"
            for row in self._shown[:_MAX_ROWS]
        )
        caption = f"<caption style='{_CAPTION}'>{html.escape(self.title)}</caption>"
        table = f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
        return table + (f"<p style='{_FAINT}'>{self._rest()}</p>" if self._rest() else "")

    def _rest(self) -> str:
        hidden = len(self._shown) - _MAX_ROWS
        return f"… {hidden:,} more rows" if hidden > 0 else ""


def _columns(rows: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(key for row in rows for key in row))


def _text(value: object) -> str:
    """Return a value as a cell of a printed table."""
    if value is None:
        return "–"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    return text if len(text) <= 80 else f"{text[:79]}…"


def _markup(cell: str) -> str:
    """Return a cell as HTML, with a fainter interval."""
    number, bracket, interval = html.escape(cell).partition(" [")
    return f"{number} <span style='{_FAINT}'>[{interval}</span>" if bracket else number
