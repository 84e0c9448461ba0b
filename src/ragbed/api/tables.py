"""Base class for results that can be shown and exported as a single table."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from ragbed.api.results import Records

if TYPE_CHECKING:
    import pandas


class TableResult(ABC):
    """A result with one main table; `records()` returns its rows as plain values, `to_pandas()` as a DataFrame."""

    @abstractmethod
    def records(self) -> Records:
        """Return the rows of the main table."""

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows of the main table as a DataFrame. Requires `ragbed[pandas]`."""
        return self.records().to_pandas()

    def __repr__(self) -> str:
        return repr(self.records())

    def _repr_html_(self) -> str:
        return self.records()._repr_html_()
