"""Read the files of other benchmarks, in which the documents of every question are given.

To add a format, write a module with the type of a record and a function that returns its item, and add it to READERS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec

from ragbed.data.decode import decode_line
from ragbed.data.native import find_problems
from ragbed.data.readers import confiqa, crag, nomiracl, ramdocs
from ragbed.data.readers.confiqa import ConfiqaRecord
from ragbed.data.readers.crag import CragRecord
from ragbed.data.readers.faitheval import (
    FaithevalChoice,
    FaithevalRecord,
    to_counterfactual,
    to_inconsistent,
    to_unanswerable,
)
from ragbed.data.readers.nomiracl import NomiraclRecord
from ragbed.data.readers.ramdocs import RamdocsRecord
from ragbed.errors import MALFORMED_JSON, DataError, option
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import Item, Lang

_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])


class Reader(msgspec.Struct, frozen=True, dict=True):
    """The format of another benchmark's files.

    Attributes:
        record: The type of a record. Unknown fields are ignored.
        to_item: Returns the item for a record, given its number in the file and the language of the file.
        documents: The field with the documents.
        files: The files that have this format, for messages.
    """

    record: type[msgspec.Struct]
    to_item: Callable[[Any, str, Lang], Item]
    documents: str
    files: str

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[msgspec.Struct]:
        """The decoder of a record, which is made on first use."""
        return msgspec.json.Decoder(self.record)

    def read_item(self, path: Path, number: int, line: bytes, lang: Lang, /) -> Item:
        """Parse a record as an item in the given language."""
        try:
            item = self.to_item(decode_line(self.decoder, path, number, line), str(number), lang)
            if not item.documents:
                raise DataError(path, "has no text, but each record must have a document", field=self.documents)
            for field, problem in find_problems(item):
                raise DataError(path, problem, field=field)
        except DataError as error:
            problem = f"{error.problem} (record {number}; expected the format of {self.files})"
            raise DataError(path, problem, line=number, field=error.field) from None
        return item


READERS: dict[str, Reader] = {
    "confiqa": Reader(ConfiqaRecord, confiqa.to_item, "cf_context", "ConFiQA-QA.json, -MR and -MC"),
    "crag": Reader(CragRecord, crag.to_item, "search_results", "CRAG's crag_task_1_and_2_dev_v4.jsonl and v5"),
    "faitheval-counterfactual": Reader(FaithevalChoice, to_counterfactual, "context", "FaithEval-counterfactual-v1.0"),
    "faitheval-inconsistent": Reader(FaithevalRecord, to_inconsistent, "context", "FaithEval-inconsistent-v1.0"),
    "faitheval-unanswerable": Reader(FaithevalRecord, to_unanswerable, "context", "FaithEval-unanswerable-v1.0"),
    "nomiracl": Reader(NomiraclRecord, nomiracl.to_item, "negative_passages", "NoMIRACL's rows on Hugging Face"),
    "ramdocs": Reader(RamdocsRecord, ramdocs.to_item, "documents", "RAMDocs_test.jsonl"),
}


def suggest_format(record: bytes) -> str:
    """Return a hint that names the formats that a record fits, or an empty text if there are none."""
    fitting = []
    for name, reader in READERS.items():
        with suppress(*MALFORMED_JSON):
            reader.decoder.decode(record)
            fitting.append(option("format", name))
    return f". It looks like a record of another benchmark; set {' or '.join(fitting)}" if fitting else ""


def read_records(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the records of a JSON Lines file with their line numbers, or those of a JSON array with their positions."""
    first = next(read_lines(path), (1, b""))[1]
    if not first.lstrip().startswith(b"["):
        yield from read_lines(path)
        return
    try:
        yield from enumerate(map(bytes, _ARRAY.decode(read_regular(path))), 1)
    except msgspec.DecodeError as error:
        raise DataError(path, f"is not a JSON array of records: {error}") from None
