"""Read a list of questions and answers: a CSV file, a JSON Lines file, or rows from Python.

Each row has a question and its answer and, optionally, the document that states it. `retrieval.evidence` turns the
rows into items.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragbed.data.decode import decode_line
from ragbed.errors import DataError, UsageError, did_you_mean, explain_failed_read
from ragbed.io.jsonl import read_lines
from ragbed.io.locations import read_regular
from ragbed.schema import MAX_ALIASES, MAX_SLOTS, Answer
from ragbed.text import squeezed

COLUMNS = ("question", "answer", "source", "false_answer", "id")
_CSV = (".csv", ".tsv")
_ID_DIGITS = 10
_OBJECT = msgspec.json.Decoder(dict[str, Any])


class QuestionRow(NamedTuple):
    """A question with its answer.

    Attributes:
        line: Line of the file, or number of the row, starting from 1.
        id: The item's ID; by default, a hash of the question, so that other rows do not change it.
        source: The file that states the answer, optionally followed by `#` and a heading; empty if unknown.
        false_answer: A wrong answer of the same type, with which evidence is edited; empty if there is none.
    """

    line: int
    id: str
    question: str
    answer: Answer
    source: str = ""
    false_answer: Answer = ()


def is_questions_file(path: Path) -> bool:
    """Return whether a file is a list of questions and answers rather than a dataset."""
    if path.suffix.lower() in _CSV:
        return True
    if path.suffix.lower() not in (".jsonl", ".ndjson") or not path.is_file():
        return False
    for _, line in islice(read_lines(path), 1):
        try:
            return is_question_row(msgspec.json.decode(line))
        except msgspec.DecodeError:
            return False
    return False


def is_question_row(row: object) -> bool:
    """Return whether a record has a question and an answer, but no documents."""
    has_documents = isinstance(row, Mapping) and bool({"passages", "documents", "expect"} & row.keys())
    return isinstance(row, Mapping) and {"question", "answer"} <= row.keys() and not has_documents


def read_questions(path: Path) -> list[QuestionRow]:
    """Read a CSV or JSON Lines file.

    Raises:
        DataError: The file has other columns, a row has no question or answer, or a question appears twice.
    """
    return parse_rows(path, _read_csv(path) if path.suffix.lower() in _CSV else _read_jsonl(path))


def parse_rows(shown: object, rows: Iterable[tuple[int, Mapping[str, Any]]]) -> list[QuestionRow]:
    """Check rows, given with their line numbers, and return them as questions.

    Args:
        shown: The file, as named in errors.
        rows: The rows.
    """
    found: list[QuestionRow] = []
    questions: dict[str, int] = {}
    ids: dict[str, int] = {}
    for line, values in rows:
        row = _parse_row(shown, line, values)
        for field, seen, key in (("question", questions, squeezed(row.question)), ("id", ids, row.id)):
            if key in seen:
                problem = f"is the same as in line {seen[key]}; remove one of the two rows"
                raise DataError(shown, problem, line=line, field=field)
            seen[key] = line
        found.append(row)
    if not found:
        raise DataError(shown, "has no questions; add a row with `question` and `answer` for each")
    return found


def _parse_row(shown: object, line: int, values: Mapping[str, Any]) -> QuestionRow:
    question = values.get("question")
    if not isinstance(question, str) or not question.strip():
        raise DataError(shown, "is empty; write the question, or remove the row", line=line, field="question")
    answer = _parse_answer(shown, line, "answer", values.get("answer"))
    false = values.get("false_answer")
    digest = hashlib.sha256(squeezed(question).encode("utf-8", "surrogatepass")).hexdigest()
    source = values.get("source") or ""
    if not isinstance(source, str):
        raise DataError(shown, "is not a text; use the name of a file", line=line, field="source")
    return QuestionRow(
        line,
        str(values.get("id") or digest[:_ID_DIGITS]),
        question.strip(),
        answer,
        source.strip(),
        _parse_answer(shown, line, "false_answer", false) if false else (),
    )


def _parse_answer(shown: object, line: int, field: str, value: object) -> Answer:
    """Return the required parts of an answer with the accepted forms of each; `|` separates the forms of a text."""
    parts = value if isinstance(value, list | tuple) else [value]
    answer = tuple(_parse_forms(part) for part in parts)
    if not answer or not all(answer):
        problem = (
            "is empty or not a text; write the answer with its accepted forms, e.g. '30 days|thirty days' (in JSON, "
            'several required parts are a list, e.g. ["30 days", "the manager"])'
        )
        raise DataError(shown, problem, line=line, field=field)
    if len(answer) > MAX_SLOTS or any(len(forms) > MAX_ALIASES for forms in answer):
        raise DataError(shown, f"has more than {MAX_SLOTS} parts or {MAX_ALIASES} forms", line=line, field=field)
    return answer


def _parse_forms(part: object) -> tuple[str, ...]:
    texts: Sequence[object] = part if isinstance(part, list | tuple) else [part]
    if not all(isinstance(text, str | int | float) and not isinstance(text, bool) for text in texts):
        return ()
    forms = (form.strip() for text in texts for form in str(text).split("|"))
    return tuple(dict.fromkeys(form for form in forms if form))


def _read_jsonl(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in read_lines(path):
        row = decode_line(_OBJECT, path, number, line)
        _check_columns(path, number, list(row))
        yield number, row


def _read_csv(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = read_regular(path).decode("utf-8-sig")
    except UnicodeDecodeError:
        problem = "is not encoded as UTF-8; save it as 'CSV UTF-8', or convert it with `iconv -f OLD -t UTF-8 FILE`"
        raise DataError(path, problem) from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {explain_failed_read(error)}.") from error
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(",;\t", key=first.count)  # spreadsheets write semicolons or tabs in some countries
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    names: list[str] = []
    try:
        for cells in reader:
            if not any(cell.strip() for cell in cells):
                continue
            if not names:
                names = [cell.strip().lower().replace(" ", "_") for cell in cells]
                _check_columns(path, reader.line_num, names)
            elif len(cells) > len(names) and any(cell.strip() for cell in cells[len(names) :]):
                problem = (
                    f"has {len(cells)} cells, but the header has {len(names)}; quote texts that contain {delimiter!r}"
                )
                raise DataError(path, f"the row {problem}", line=reader.line_num)
            else:
                yield reader.line_num, dict(zip(names, cells, strict=False))
    except csv.Error as error:
        raise DataError(path, f"this is not valid CSV: {error}", line=reader.line_num) from None


def _check_columns(shown: object, line: int, names: Sequence[str]) -> None:
    """Check that the required columns exist; further columns are ignored."""
    for needed in ("question", "answer"):
        if needed not in names:
            others = [name for name in names if name not in COLUMNS and name]
            found = ", ".join(filter(None, names)) or "none"
            raise DataError(
                shown,
                f"the column {needed!r} is missing (found: {found}).{did_you_mean(needed, others)} A list of questions "
                "has the columns question and answer, and optionally source (the file that states the answer)",
                line=line,
            )
