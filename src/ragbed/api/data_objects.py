"""Read datasets from Python objects and from questions about a folder of documents."""

from __future__ import annotations

import math
import shutil
import tempfile
import weakref
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, get_args

import msgspec

from ragbed.api.job_specs import BuildQaSpec
from ragbed.api.objects import labelled
from ragbed.api.progress import open_progress
from ragbed.api.specification import takes
from ragbed.data import Dataset, Line, native, without_false
from ragbed.data.language import SAMPLE, detect_language
from ragbed.errors import DataError, UnknownName, UsageError, option
from ragbed.io.jsonl import write_file
from ragbed.models.systems import brief
from ragbed.reporting.table import Result, write_csv
from ragbed.schema import Item, Lang
from ragbed.text import counted, quoted

if TYPE_CHECKING:
    from ragbed.data.evidence import DocumentFolder
    from ragbed.data.questions_file import QuestionRow
    from ragbed.retrieval.evidence import NotFound

_SHOWN = 3  # maximum number of questions without evidence that a run lists
_MIN_QUESTIONS = 20  # minimum number of questions to detect a language other than English and Chinese


def open_folder(docs: str | Path, tell: Callable[[str], None] = lambda _: None) -> DocumentFolder:
    """Read the documents in a folder.

    Raises:
        UsageError: The folder does not exist, or contains no readable document.
    """
    from ragbed.builder.folder import read_folder
    from ragbed.data.evidence import DocumentFolder

    folder = Path(docs)
    documents, rejects = read_folder(folder)
    if rejects:
        first = rejects[0]
        more = f"{counted(len(rejects), 'file')} in {folder} {'is' if len(rejects) == 1 else 'are'} not read"
        tell(f"{more}, e.g. {first.what}: {first.reason}.")
    return DocumentFolder(folder, documents)


def _read_rows(source: str | Path | Iterable[Mapping[str, Any]], name: str = "data") -> list[QuestionRow]:
    """Return the questions in a file or in rows from Python."""
    from ragbed.data.questions_file import parse_rows, read_questions

    if isinstance(source, str | Path):
        return read_questions(Path(source))
    return parse_rows(f"data={name!r}", enumerate(source, 1))


def _locate(
    rows: Sequence[QuestionRow], folder: DocumentFolder, lang: Lang | None
) -> tuple[list[Item], list[NotFound]]:
    from ragbed.retrieval.evidence import find_evidence

    if lang is None and len(rows) >= _MIN_QUESTIONS:
        detected = detect_language([row.question for row in rows[:SAMPLE]])
        if detected not in get_args(Lang):
            raise UsageError(
                f"the questions are in {detected}, but prompts and validated scoring exist only for en and zh. To use "
                f"those of en or zh anyway, set {option('data_lang')}."
            )
    return find_evidence(rows, folder.documents, lang)


@takes(BuildQaSpec)
def build_qa(spec: BuildQaSpec) -> Result:
    """Find the evidence for your own questions in a folder of documents, and write a dataset.

    Example:
        >>> from pathlib import Path
        >>> Path("manual").mkdir()
        >>> _ = Path("manual/hours.md").write_text("The library opens at nine and closes at five.")
        >>> rows = [{"question": "When does the library open?", "answer": "nine|9:00"}]
        >>> ragbed.build_qa(rows, docs="manual", out="hours")["files"]
        {'en_base.jsonl': 1}
    """
    target, questions = Path(spec.out), spec.questions
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{option('out', target)} already exists. Choose a new folder, or delete it.")
    with open_progress(spec.progress) as shown:
        folder = open_folder(spec.docs, shown.message)
        rows = _read_rows(questions if isinstance(questions, str | Path) else _rows_of(questions) or [])
        items, missing = _locate(rows, folder, spec.data_lang)
    if len(missing) == len(rows):
        raise DataError(
            questions if isinstance(questions, str | Path) else "questions",
            f"none of the {counted(len(rows), 'question')} has evidence in {folder.path}, e.g. line {missing[0].line}: "
            f"{missing[0].reason}",
        )
    files: dict[str, list[Item]] = {}
    for item in items:
        if item.passages:
            base = without_false(item)
            kind = "int" if any(passage.part is not None for passage in base.passages) else "base"
            files.setdefault(f"{item.lang}_{kind}.jsonl", []).append(base)
            if item.fake:
                files.setdefault(f"{item.lang}_fact.jsonl", []).append(item)
    target.mkdir(parents=True, exist_ok=True)
    for name, found in files.items():
        write_file(target / name, b"".join(map(native.to_line, found)))
    unlocated = [one._asdict() for one in missing]
    write_file(target / "not-found.csv", write_csv(unlocated).encode())
    counts = {name: len(found) for name, found in files.items()}
    notes = [f"{target / name}: {count} items" for name, count in counts.items()]
    notes += [f"No evidence for line {one.line}, {one.question!r}: {one.reason}." for one in missing]
    first = target / next(iter(counts))
    notes.append(
        f"Next: ragbed review {quoted(first)}, then ragbed run -m factory/MODULE:make --docs {quoted(spec.docs)} "
        f"-d {quoted(first)}"
    )
    return Result([], notes, {"folder": str(target), "files": counts, "missing": unlocated})


class DataFrame(Protocol):
    """A pandas DataFrame."""

    def to_dict(self, orient: Literal["records"]) -> list[dict[str, Any]]:
        """Return the rows as dictionaries."""
        ...


DataObject: TypeAlias = str | Path | DataFrame | Iterable[Mapping[str, Any]]
_FIELDS = "docs/reference/file-formats.md lists the fields of an item."
DataLike: TypeAlias = DataObject | Sequence[DataObject] | Mapping[str, DataObject]


def read_data(
    data: DataLike,
    lang: Lang | None = None,
    docs: str | Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
    formats: Sequence[str] = (),
) -> list[Dataset]:
    """Return the datasets given by the `data` parameter.

    Args:
        data: The datasets.
        lang: The language of items without a language of their own; None to detect it.
        docs: The folder of documents that the questions are about.
        tell: Called with each message for the user.
        formats: The formats of other benchmarks' files, as `FORMAT` or `DATA=FORMAT`.

    Raises:
        UsageError: A name or a format is unknown, a file does not exist, or an object is not a dataset.
    """
    from ragbed.data.catalog import open_data
    from ragbed.data.questions_file import is_question_row, is_questions_file

    given: Any = data
    if isinstance(data, Mapping) and {"question", "query"} & data.keys():
        raise UsageError("`data` is a single item, but a list of items is expected: data=[{…}, …].")
    if _is_rows(data):
        given = [data]
    named = labelled("data", given)
    if not named:
        raise UsageError("`data` is empty, so there is nothing to run. Pass at least one dataset or item.")
    folder = None if docs is None else open_folder(docs, tell)
    by_name = _read_formats(formats)
    datasets = list[Dataset]()
    for label, value in named:
        if isinstance(value, str | Path):
            before, equals, after = str(value).partition("=")
            has_name = bool(equals) and not Path(value).exists()
            path = Path(after if has_name else value)
            name = label or (before if has_name else path.stem)
            form = by_name.get(name, by_name.get(""))
            if form or "://" in str(value) or not is_questions_file(path):
                opened = open_data([f"{label}={value}" if label else str(value)], form=form)
                datasets += [_complete(dataset, folder, lang) for dataset in opened]
            else:
                datasets.append(_open_questions(name, path, folder, lang, tell))
            continue
        name, rows = label or "data", _rows_of(value)
        if rows is None:
            raise UsageError(
                f"data={brief(value)} is not a dataset: use a name, a file, a list of item dictionaries or a DataFrame."
            )
        if not rows:
            raise UsageError(f"data={name!r} is empty, so there is nothing to run. Pass at least one item.")
        if is_question_row(rows[0]):
            datasets.append(_open_questions(name, rows, folder, lang, tell))
        else:
            lines = (_encode(name, number, row) + b"\n" for number, row in enumerate(rows))
            datasets.append(_keep(_GivenItems, name, lines, folder, lang))
    names = [dataset.name for dataset in datasets]
    if unused := [name for name in by_name if name and not any(one.startswith(name) for one in names)]:
        raise UnknownName("dataset", unused[0], names)
    if twice := [name for name, count in Counter(names).items() if count > 1]:
        rename = "Rename one with NAME=PATH"
        if any(isinstance(dataset, _GivenItems) for dataset in datasets):
            rename = "Give each its own name: data={'NAME': …, 'OTHER': …}"
        raise UsageError(f"{names.count(twice[0])} datasets are named {twice[0]!r}. {rename}.")
    return datasets


def _read_formats(formats: Sequence[str]) -> dict[str, str]:
    """Return the formats by the name of their dataset, or an empty name for all others."""
    from ragbed.data.readers import READERS

    found = {}
    for text in formats:
        name, _, form = text.rpartition("=")
        if form not in READERS:
            raise UnknownName("format", form, READERS)
        found[name] = form
    return found


def _open_questions(
    name: str, source: Path | list[dict[str, Any]], docs: DocumentFolder | None, lang: Lang | None,
    tell: Callable[[str], None],
) -> Dataset:  # fmt: skip
    """Find the evidence for questions, and return them as a dataset."""
    if docs is None:
        shown = source if isinstance(source, Path) else f"data={name!r}"
        raise UsageError(
            f"{shown} is a list of questions and answers, which needs documents. Add {option('docs', 'FOLDER')} with "
            "the documents that state the answers."
        )
    rows = _read_rows(source, name)
    items, missing = _locate(rows, docs, lang)
    if missing:
        lines = "".join(f"\n  {one.line}: {one.question} – {one.reason}." for one in missing[:_SHOWN])
        more = f"\n  … and {len(missing) - _SHOWN} more; `ragbed build qa` lists all" if len(missing) > _SHOWN else ""
        tell(f"{len(missing)} of {counted(len(rows), 'question')} without evidence in {docs.path}:{lines}{more}")
    return _keep(Dataset, name, map(native.to_line, items), docs, lang)


def _keep(
    kind: type[Dataset], name: str, lines: Iterable[bytes], docs: DocumentFolder | None, lang: Lang | None
) -> Dataset:
    """Return items as a dataset, in a temporary file that is deleted along with the object."""
    content, place = b"".join(lines), Path(tempfile.mkdtemp(prefix="ragbed-"))
    (place / f"{name}.jsonl").write_bytes(content)
    dataset = _complete(kind(name, place / f"{name}.jsonl"), docs, lang)
    weakref.finalize(dataset, shutil.rmtree, place, ignore_errors=True)
    return dataset


def _complete(dataset: Dataset, docs: DocumentFolder | None, lang: Lang | None) -> Dataset:
    """Return a dataset with the documents that its questions are about, or with the language of its items."""
    if docs is not None:
        return replace(dataset, folder=docs)
    return dataset if lang is None else dataset.in_language(lang)


class _GivenItems(Dataset):
    """Items given as Python objects; error messages name the item instead of the temporary file."""

    def lines(self) -> Iterator[Line]:
        """Yield each item, or an error if the item is invalid."""
        for line in super().lines():
            if isinstance(error := line.content, DataError):
                item = f"data={self.name!r}, item {line.number - 1}"
                problem = f"{error.problem.rstrip('.')}. Correct the item, or leave it out; {_FIELDS}"
                yield line._replace(content=DataError(item, problem, field=error.field))
            else:
                yield line


def _is_rows(data: object) -> bool:
    """Return whether an object is a single dataset: a DataFrame or a list of item dictionaries."""
    if _is_frame(data) or hasattr(data, "to_dicts"):
        return True
    return isinstance(data, Sequence) and not isinstance(data, str) and bool(data) and isinstance(data[0], Mapping)


def _rows_of(value: Any) -> list[dict[str, Any]] | None:  # noqa: ANN401 - checked here
    """Return the items in a list or in a pandas or polars DataFrame, without empty cells."""
    if hasattr(value, "to_dicts"):
        value = value.to_dicts()
    elif _is_frame(value):
        value = value.to_dict("records")
    if not isinstance(value, Iterable) or isinstance(value, str | bytes | Mapping):
        return None
    rows = list(value)
    if not all(isinstance(row, Mapping) for row in rows):
        return None
    return [{key: cell for key, cell in row.items() if not _is_empty(cell)} for row in rows]


def _is_frame(value: object) -> bool:
    """Return whether an object looks like a pandas DataFrame: it has a `to_dict` method and a `columns` attribute."""
    return hasattr(value, "to_dict") and hasattr(value, "columns")


def _is_empty(cell: object) -> bool:
    """Return whether a cell is empty: None, NaN or pandas' missing value."""
    return (
        cell is None or type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and math.isnan(cell))
    )


def _encode(name: str, number: int, row: Mapping[str, Any]) -> bytes:
    item = {"id": number if "query" in row else str(number), **row}
    try:
        return msgspec.json.encode(item, enc_hook=_plain)
    except (TypeError, ValueError, RecursionError) as error:
        raise UsageError(
            f"data={name!r}: item {number} cannot be converted to JSON: {error}. Use strings, numbers, lists and "
            f"dictionaries; {_FIELDS}"
        ) from None


def _plain(value: Any) -> Any:  # noqa: ANN401 - a value from any library
    """Convert a NumPy array to a list, or a NumPy scalar to a Python scalar."""
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} is not a type that JSON supports")
