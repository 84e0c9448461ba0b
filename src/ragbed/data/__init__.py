"""Read and write datasets. Each file format has its own module and is detected from the fields of a record.

To add a format, write a module with SIGN, `read_item` and `to_line`, and add a line to FORMATS.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import islice
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast, get_args

import msgspec

from ragbed.data import native, rgb
from ragbed.data.decode import decode_line
from ragbed.data.language import SAMPLE, detect_language
from ragbed.data.readers import READERS, read_records, suggest_format
from ragbed.errors import DataError, option
from ragbed.io.jsonl import read_lines
from ragbed.io.pins import hash_file
from ragbed.schema import Answer, Item, Kind, Lang
from ragbed.text import squeezed

if TYPE_CHECKING:
    from ragbed.data.evidence import DocumentFolder


class Format(Protocol):
    """A file format whose records are recognised by the field named in `SIGN`."""

    SIGN: str

    def read_item(self, path: Path, number: int, line: bytes, lang: Lang, /) -> Item:
        """Parse one line of a file as an item; `lang` is its language if the line does not give one."""

    def to_line(self, item: Item) -> bytes:
        """Encode an item as one line of a file."""


FORMATS: dict[str, Format] = {
    "native": native,
    "rgb": rgb,
}
# Part of the name of a dataset in another language, and so of its cases. Refusals in it are not scored by rules.
UNVALIDATED = "scorer not validated for this language"
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Question(msgspec.Struct):
    query: str | None = None
    question: str | None = None


_QUESTION = msgspec.json.Decoder(_Question)


class Line(NamedTuple):
    """One line of a dataset: an item, or an error if the line is not a valid item."""

    number: int
    content: Item | DataError
    size: int  # size in bytes
    spelling: str  # name of the format; empty if no format was detected


@dataclass(frozen=True)
class Dataset:
    """A named file of items; each iteration reads the file from the start."""

    name: str
    path: Path
    # The language of items without a language of their own; None to detect it.
    lang: Lang | None = field(default=None, kw_only=True)
    # The documents that the questions are about; None if there are only the items' passages.
    folder: DocumentFolder | None = field(default=None, kw_only=True)
    format: str | None = field(default=None, kw_only=True)  # another benchmark's format; None to detect RGB's or ours

    def items(self) -> Iterator[Item]:
        """Yield the items in file order, and raise an error at the first line that is not a valid item."""
        for line in self.lines():
            if isinstance(line.content, DataError):
                raise line.content
            yield line.content

    def lines(self) -> Iterator[Line]:
        """Yield every line as an item or an error. Stop early only if the remaining lines cannot be read."""
        yield from read_file(self.path, self.lang, self.format)

    def as_kind(self, item: Item, kind: Kind) -> Item | None:
        """Return an item for testbeds of one kind, or None if it does not suit them.

        A question about a folder of documents is also a base item, without its false answer.
        """
        found = kind_of(item)
        if found == "counterfactual" and kind == "base" and self.folder is not None:
            return without_false(item)
        return item if found == kind else None

    def in_language(self, lang: Lang) -> Dataset:
        """Return the dataset with a given language for its items; its name says if the language seems to be another."""
        detected = _detected(self.path, self.format)
        mark = "" if detected in (None, lang) else f" ({detected}, {UNVALIDATED})"
        return replace(self, name=f"{self.name}{mark}", lang=lang)

    def resolve_limit(self, limit: int | Fraction | None) -> int | None:
        """Convert a limit to a number of items, rounding up if the limit is a fraction; None means all items."""
        return ceil(limit * self.count()) if isinstance(limit, Fraction) else limit

    def count(self) -> int:
        """Return the number of items."""
        return sum(1 for _ in self.items())

    def size(self) -> int:
        """Return the size in bytes."""
        return self.path.stat().st_size

    def sha256(self) -> str:
        """Return the hash of the file's bytes."""
        return hash_file(self.path)


def read_file(path: Path, lang: Lang | None = None, form: str | None = None) -> Iterator[Line]:
    """Yield every line of a file as an item or an error.

    Args:
        path: The file.
        lang: The language of items without a language of their own; None to detect it.
        form: The format if it is another benchmark's; None to detect RGB's or the native one.
    """
    spelling = form or ""
    seen: set[str] = set()
    number = 0
    try:
        for number, line in (read_records if form else read_lines)(path):
            try:
                spelling = spelling or _detect_format(path, number, line)
                lang = lang or _need_language(path, number, form)
                item = (FORMATS.get(spelling) or READERS[spelling]).read_item(path, number, line, lang)
                if item.id in seen:
                    problem = f"{item.id!r} already appears on an earlier line; IDs must be unique"
                    raise DataError(path, problem, line=number, field="id")
                if item.fake is not None and item.answer and is_same_answer(item.fake, item.answer):
                    problem = (
                        f"is also the true answer of item {item.id!r}, so that responses misled by it would count as "
                        "right; choose another false answer (`ragbed lint` lists all such items)"
                    )
                    raise DataError(path, problem, line=number, field="fakeanswer" if spelling == "rgb" else "fake")
            except DataError as error:
                if not form and not seen and (hint := suggest_format(line)):
                    error = DataError(path, f"{error.problem}{hint}", line=number, field=error.field)
                yield Line(number, error, len(line), spelling)
            else:
                seen.add(item.id)
                yield Line(number, item, len(line), spelling)
    except DataError as error:  # unsupported encoding, or a line that is too long
        yield Line(error.line or 1, error, 0, spelling)
    else:
        if not number:
            yield Line(1, DataError(path, "is empty; expected one JSON object per line"), 0, spelling)


def _detected(path: Path, form: str | None) -> str | None:
    """Return the language of a file's questions, or None if its items have languages of their own or are invalid."""
    questions = []
    try:
        for _, line in islice((read_records if form else read_lines)(path), SAMPLE):
            record = _QUESTION.decode(line)
            if question := record.query or (record.question if form else None):
                questions.append(question)
    except (DataError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None  # the error is reported when the items are read
    return detect_language(questions) if questions else None


def _need_language(path: Path, number: int, form: str | None) -> Lang:
    """Return the language of a file's questions.

    Raises:
        DataError: There are no prompts and no validated scoring for the language.
    """
    detected = _detected(path, form) or "en"
    if detected in get_args(Lang):
        return cast("Lang", detected)
    raise DataError(
        path,
        f"the questions are in {detected}, but prompts and validated scoring exist only for en and zh. To use those "
        f"of en or zh anyway, set {option('data_lang')}",
        line=number,
    )


def _detect_format(path: Path, number: int, line: bytes) -> str:
    fields = decode_line(_OBJECT, path, number, line)
    for name, candidate in FORMATS.items():
        if candidate.SIGN in fields:
            return name
    signs = " or ".join(f"{candidate.SIGN!r} ({name})" for name, candidate in FORMATS.items())
    found = ", ".join(fields) or "none"
    raise DataError(
        path,
        f"unknown record format; expected the field {signs}, but found {found}; see docs/reference/file-formats.md",
        line=number,
    )


def is_same_answer(fake: Answer, gold: Answer) -> bool:
    """Return whether a false answer has an alias of every part of the true one, ignoring case and white space."""
    given = {squeezed(alias) for aliases in fake for alias in aliases}
    return all(any(squeezed(alias) in given for alias in aliases) for aliases in gold)


def without_false(item: Item) -> Item:
    """Return an item without its false answer and the passages that state it."""
    passages = tuple(passage for passage in item.passages if passage.stance != "contradicts")
    return msgspec.structs.replace(item, fake=None, passages=passages)


def kind_of(item: Item) -> Kind:
    """Infer an item's kind from its fields."""
    if item.expect is not None:
        return "given"
    if item.fake is not None:
        return "counterfactual"
    return "integration" if {passage.part for passage in item.passages} - {None} else "base"
