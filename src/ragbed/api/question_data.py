"""Turn a list of questions and a folder of documents into a dataset."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast, get_args

from ragbed.api.job_specs import BuildQaSpec
from ragbed.api.progress import open_progress
from ragbed.api.specification import takes
from ragbed.data import Dataset, native, without_false
from ragbed.data.language import SAMPLE, detect_language
from ragbed.errors import DataError, UnknownName, UsageError, option
from ragbed.io.jsonl import write_file
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


def is_questions(value: object) -> bool:
    """Return whether a data value is a list of questions and answers, not a dataset."""
    from ragbed.data.questions_file import is_question_row, is_questions_file

    if isinstance(value, str | Path):
        path = Path(str(value).partition("=")[2] if "=" in str(value) and not Path(value).exists() else value)
        return "://" not in str(value) and is_questions_file(path)
    return isinstance(value, Sequence) and bool(value) and is_question_row(value[0])


def make_dataset(
    name: str,
    rows: Sequence[QuestionRow],
    folder: DocumentFolder,
    lang: str | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Dataset:
    """Find the evidence for questions, and return them as a dataset, which is deleted along with the object."""
    items, missing = _locate(rows, folder, lang)
    if missing:
        lines = "".join(f"\n  {one.line}: {one.question} – {one.reason}." for one in missing[:_SHOWN])
        more = f"\n  … and {len(missing) - _SHOWN} more; `ragbed build qa` lists all" if len(missing) > _SHOWN else ""
        tell(f"{len(missing)} of {counted(len(rows), 'question')} without evidence in {folder.path}:{lines}{more}")
    place = Path(tempfile.mkdtemp(prefix="ragbed-"))
    path = place / f"{name}.jsonl"
    path.write_bytes(b"".join(map(native.to_line, items)))
    dataset = Dataset(name, path, folder=folder)
    weakref.finalize(dataset, shutil.rmtree, place, ignore_errors=True)
    return dataset


def read_rows(value: str | Path | Iterable[Mapping[str, Any]], name: str = "data") -> list[QuestionRow]:
    """Return the questions in a file or in rows from Python."""
    from ragbed.data.questions_file import parse_rows, read_questions

    if isinstance(value, str | Path):
        return read_questions(Path(value))
    return parse_rows(f"data={name!r}", enumerate(value, 1))


def _locate(rows: Sequence[QuestionRow], folder: DocumentFolder, lang: str | None) -> tuple[list[Item], list[NotFound]]:
    from ragbed.retrieval.evidence import find_evidence

    if lang is not None and lang not in get_args(Lang):
        raise UnknownName("language", lang, get_args(Lang))
    if lang is None and len(rows) >= _MIN_QUESTIONS:
        detected = detect_language([row.question for row in rows[:SAMPLE]])
        if detected not in get_args(Lang):
            raise UsageError(
                f"the questions are in {detected}, for which there are no prompts and no validated scoring (only for "
                f"en and zh). To use those of en or zh anyway, set {option('data_lang')}."
            )
    return find_evidence(rows, folder.documents, cast("Lang | None", lang))


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
    from ragbed.api.data_objects import rows_of

    target, questions = Path(spec.out), spec.questions
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise UsageError(f"{option('out', target)} already exists. Choose a new folder, or delete it.")
    with open_progress(spec.progress) as shown:
        folder = open_folder(spec.docs, shown.message)
        rows = read_rows(questions if isinstance(questions, str | Path) else rows_of(questions) or [])
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
