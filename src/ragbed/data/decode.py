"""Decode one line of JSON into a typed record, with errors that give the file, line and field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TypeVar

import msgspec

from ragbed.errors import DataError, nearest_name
from ragbed.schema import Item

RecordT = TypeVar("RecordT")
_ALLOWED = {
    "lang": "; use en or zh",
    "stance": "; use supports, distracts or contradicts",
    "expect": "; use answer, refuse, correct or any",
}
_ONE_OBJECT = "each line must be one JSON object"
_AT_FIELD = r"(?s)^(?P<problem>.*?) - at `\$\.?(?P<field>.*)`$"
_NAMED_FIELD = r"^Object (?P<problem>.*field) `(?P<field>[^`]*)`(?: - at `\$\.?(?P<parent>.*)`)?$"


def decode_line(decoder: msgspec.json.Decoder[RecordT], path: Path, number: int, line: bytes) -> RecordT:
    """Decode one line, or raise a DataError that gives the file, line and field."""
    try:
        return decoder.decode(line)
    except msgspec.ValidationError as error:
        field, problem = _explain(str(error), decoder.type)
        raise DataError(path, problem, line=number, field=field) from None
    except msgspec.DecodeError as error:
        raise DataError(path, f"{_lower_first(str(error))}; {_ONE_OBJECT} in UTF-8", line=number) from None
    except UnicodeDecodeError:
        raise DataError(
            path, "the line is not encoded as UTF-8; convert the file with `iconv -f OLD -t UTF-8 FILE`", line=number
        ) from None
    except RecursionError:
        raise DataError(
            path, "the record is nested too deeply; see docs/reference/file-formats.md", line=number
        ) from None


def find_empty(item: Item) -> Iterator[tuple[str, str]]:
    """Yield the fields `question`, `answer` and `fake` of an item that have an empty text, each with the problem."""
    if not item.question.strip():
        yield "question", "is empty; write the question"
    answers = {"answer": item.answer} | ({"fake": item.fake} if item.fake is not None else {})
    for name, slots in answers.items():
        if not slots or not all(slots):
            yield name, 'is empty; list the slots of the answer with their aliases, e.g. [["12", "twelve"]]'
        if not all(alias.strip() for aliases in slots for alias in aliases):
            yield name, "contains an empty alias, which would match every text; remove the alias or fill it in"


def _explain(message: str, record: object) -> tuple[str | None, str]:
    if named := re.match(_NAMED_FIELD, message):
        field, parent = named["field"], f"{named['parent']}." if named["parent"] else ""
        if "missing" in named["problem"]:
            return f"{parent}{field}", "is missing"
        names = [known.name for known in msgspec.structs.fields(record)] if isinstance(record, type) else []
        near = nearest_name(field, names)
        fix = f"did you mean {near!r}?" if near else "remove it"
        return f"{parent}{field}", f"is not a field of this record; {fix}"
    if at_field := re.match(_AT_FIELD, message):
        allowed = _ALLOWED.get(at_field["field"].rpartition(".")[2], "") if "enum" in at_field["problem"] else ""
        return at_field["field"], _lower_first(at_field["problem"]) + allowed
    return None, f"{_lower_first(message)}; {_ONE_OBJECT}"


def _lower_first(text: str) -> str:
    return text[:1].lower() + text[1:] if not text.startswith("JSON") else text
