"""Write, validate and decode the rows of a run."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ragbed.errors import MALFORMED_JSON, DataError
from ragbed.runs.checksum import seal_of
from ragbed.schema import Case, Completion


class StoredResult(msgspec.Struct, frozen=True):
    """A stored result with its case."""

    case: Case
    model: str
    repeat: int
    completion: Completion
    request: str = ""  # the request's key in the response cache
    cached: int = 0  # when the response was received, in seconds since 1970, if it came from the cache
    number: int = 0  # the case's number in the run


class Rows:
    """Validates and decodes the rows of a run's file.

    Args:
        path: The file, used in messages.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._last: tuple[tuple[object, ...], Case] | None = None

    # The decoders are made on first use, because an import or a merge reads hardly any rows.

    @cached_property
    def _cases(self) -> msgspec.json.Decoder[Case]:
        return msgspec.json.Decoder(Case)

    @cached_property
    def _completions(self) -> msgspec.json.Decoder[Completion]:
        return msgspec.json.Decoder(Completion)

    def check(self, row: tuple[Any, ...]) -> int:
        """Validate a result and return its checksum."""
        *fields, seal, completion = row[:9]
        if not isinstance(seal, int) or seal_of(completion, *fields) != seal:
            raise self.damaged(f"the result of case {row[1]}")
        return seal

    def stored(self, model: str, row: tuple[Any, ...]) -> StoredResult:
        """Decode a result and its case."""
        _, number, repeat, _, request, _, cached, _, _, *case = row
        return StoredResult(self.case(*case), model, repeat, self.completion(row), str(request), cached, number)

    def completion(self, row: tuple[Any, ...]) -> Completion:
        """Decode a result."""
        try:
            return self._completions.decode(row[8])
        except MALFORMED_JSON as error:
            raise self.damaged(f"the result of case {row[1]}", error) from error

    def case(self, name: object, feasible: object, seal: object, line: object) -> Case:
        """Validate and decode a case."""
        columns = (name, feasible, seal, line)
        if self._last is not None and columns == self._last[0]:  # consecutive rows are often repeats of one case
            return self._last[1]
        try:
            case = self._cases.decode(self.line(*columns))
        except MALFORMED_JSON as error:
            raise self.damaged(f"case {name}", error) from error
        self._last = columns, case
        return case

    def line(self, name: object, feasible: object, seal: object, line: object) -> bytes:
        """Validate a case and return its JSON."""
        if not isinstance(line, bytes) or seal_of(line, name, feasible) != seal:
            raise self.damaged(f"case {name}")
        return line

    def damaged(self, what: str, error: Exception | None = None) -> DataError:
        """Return the error for a row whose content has changed since it was written."""
        cause = f" ({error})" if error else ""
        return DataError(self._path, f"{what} is damaged{cause}; restore the file from a backup")
