"""Draw the rows of the scorer's validation set from responses, and read and write its files."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, TypeAlias

import msgspec

from ragbed.schema import Case, Document, Lang
from ragbed.scoring.robust.normalise import fold

# The parts of the validation sets: development rows, and rows that were held out until they were scored.
Part: TypeAlias = Literal["dev", "held-out", "dev-2", "held-out-2", "dev-3", "held-out-3", "dev-4", "held-out-4"]

ORDINARY = ("gold only", "rival only", "set-phrase refusal", "number and date variants")
# The share of each stratum in the sample; a stratum with too few responses is taken completely.
SHARES = {
    "gold only": 0.12,
    "gold and rival": 0.24,
    "rival only": 0.12,
    "free refusal": 0.16,
    "set-phrase refusal": 0.05,
    "flag": 0.16,
    "hedge": 0.05,
    "swapped parts": 0.05,
    "number and date variants": 0.05,
}

MAX_VALUE = 40  # maximum number of characters of a document that consists only of a value

_SET_PHRASE = re.compile(r"insufficient information|信息不足")
_REFUSING = re.compile(
    r"\bnot\b|n't\b|\bno\b|\bnone\b|\bunable\b|\bcannot\b|\bnothing\b|\bunknown\b|\bmissing\b|\bsilent\b|不|没|无|未|缺"
)
_FLAGGING = re.compile(
    r"\berrors?\b|\bincorrect\b|\bwrong\b|\bmistake|\binaccura|\bfalse\b|\bcontradict|\bactually\b|\bin fact\b"
    r"|错误|有误|不符|不实|不正确|不准确|矛盾|实际上|其实"
)
_HEDGING = re.compile(r"\bor\b|\bmaybe\b|\bperhaps\b|\bmight\b|\bpossibly\b|\beither\b|可能|也许|或许|或者|大概")
_DIGIT = re.compile("[0-9一二三四五六七八九十]")


class ValidationRow(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One response to label; see tests/scoring/validation/README.md."""

    id: str
    lang: Lang
    stratum: str
    origin: str
    question: str
    answer: list[list[str]]
    response: str
    fake: list[list[str]] | None = None
    documents: list[dict[str, Any]] = []
    expect: Literal["answer", "refuse", "correct"] = "answer"

    def case(self) -> Case:
        """Return the case that the response answers."""
        documents = tuple(
            Document(
                text=each["text"],
                stance=each.get("stance", "distracts"),
                kind=each.get("kind", "related"),
                source=at,
                # Rows that were written for the set have a rival value instead of a document.
                states=each.get("states") or (each["text"] if len(each["text"]) <= MAX_VALUE else None),
            )
            for at, each in enumerate(self.documents)
        )
        return Case(
            case=f"validation/{self.id}/noise@noise=0,k=5,arm=related,profile=robust,seed=0",
            data="validation",
            item=self.id,
            lang=self.lang,
            testbed="noise",
            question=self.question,
            noise=0,
            noise_real=0,
            k=len(documents),
            correct=0,
            arm="related",
            profile="robust",
            seed=0,
            feasible=True,
            documents=documents,
            slots=(),
            messages=(),
            answer=tuple(map(tuple, self.answer)),
            fake=None if self.fake is None else tuple(map(tuple, self.fake)),
            expect=self.expect,
        )


def part_of(question: str, response: str) -> Part:
    """Return the part of a row; it depends only on the hash of question and response."""
    return "held-out" if int(_digest(question, response)[:8], 16) % 3 == 0 else "dev"


def _digest(question: str, response: str) -> str:
    return hashlib.sha256(f"{question}\0{response}".encode()).hexdigest()


def draw_sample(files: Iterable[Path], per_language: int) -> list[ValidationRow]:
    """Return the rows with the smallest hashes of each stratum, without repeated responses to a question."""
    strata: dict[tuple[str, str], list[tuple[str, ValidationRow]]] = defaultdict(list)
    seen: set[str] = set()
    for line in (line for file in files for line in file.read_text("utf-8").splitlines()):
        record = json.loads(line)
        digest = _digest(record["question"], record["response"])
        if digest in seen or not record["response"].strip():
            continue
        seen.add(digest)
        row = _to_row(record, digest)
        # Half of the digest is hashed again, so that the order does not depend on the part.
        order = hashlib.sha256(digest[32:].encode()).hexdigest()
        strata[row.lang, row.stratum].append((order, row))
    rows = []
    for (_, stratum), found in sorted(strata.items()):
        rows += [row for _, row in sorted(found, key=lambda each: each[0])[: round(SHARES[stratum] * per_language)]]
    return rows


def _to_row(record: dict[str, Any], digest: str) -> ValidationRow:
    row = ValidationRow(
        id=digest[:16],
        lang=record["lang"],
        stratum=record.get("stratum", ""),
        origin=record.get("model") or record.get("origin", "written"),
        question=record["question"],
        answer=[list(aliases) for aliases in record["answer"]],
        fake=record.get("fake"),
        documents=[{"text": each["text"], "stance": each["stance"]} for each in record.get("documents", [])],
        response=record["response"],
        expect=record.get("expect", "answer"),
    )
    return row if row.stratum else msgspec.structs.replace(row, stratum=stratum_of(row))


def stratum_of(row: ValidationRow) -> str:  # noqa: PLR0911 - one return per stratum
    """Return the stratum of a response, determined by simple features that do not depend on the scorer."""
    text = fold(row.response, row.lang)
    golds = [any(fold(alias, row.lang) in text for alias in aliases) for aliases in row.answer]
    rivals = [fold(alias, row.lang) for aliases in row.fake or [] for alias in aliases] + _stated(row)
    has_rival = any(rival and rival in text for rival in rivals)
    if _SET_PHRASE.search(text):
        return "set-phrase refusal"
    if _FLAGGING.search(text) and row.expect == "correct":
        return "flag"
    if _HEDGING.search(text) and any(golds):
        return "hedge"
    if len(golds) > 1 and all(golds):
        return "swapped parts"
    if any(golds):
        return "gold and rival" if has_rival else "gold only"
    if _REFUSING.search(text):
        return "free refusal"
    is_number = any(_DIGIT.search(alias) for aliases in row.answer for alias in aliases)
    return "number and date variants" if is_number and _DIGIT.search(text) and not has_rival else "rival only"


def _stated(row: ValidationRow) -> list[str]:
    """Return the capitalised names and the numbers of the documents that do not support the answer."""
    found: set[str] = set()
    answers = {fold(alias, row.lang) for aliases in row.answer for alias in aliases}
    for document in row.documents:
        if document.get("stance") != "supports":
            found |= {
                fold(each, row.lang)
                for each in re.findall(r"[A-Z]\w+(?: [A-Z]\w+)+|[0-9][0-9,.]*[0-9]", document["text"])
            }
    question = fold(row.question, row.lang)
    return [each for each in found if each not in question and not any(each in answer for answer in answers)]


def write_rows(folder: Path, rows: Iterable[ValidationRow]) -> Counter[tuple[str, str, str]]:
    """Write the rows of each language and part, sorted by ID; return how many there are per stratum."""
    counts: Counter[tuple[str, str, str]] = Counter()
    files: dict[Path, list[ValidationRow]] = defaultdict(list)
    for row in rows:
        part = part_of(row.question, row.response)
        counts[row.lang, part, row.stratum] += 1
        files[folder / f"{row.lang}-{part}.jsonl"].append(row)
    folder.mkdir(parents=True, exist_ok=True)
    for path, found in files.items():
        lines = (msgspec.json.encode(row) for row in sorted(found, key=lambda row: row.id))
        path.write_bytes(b"".join(line + b"\n" for line in lines))
    return counts


def read_rows(folder: Path, part: Part) -> list[ValidationRow]:
    """Return the rows of a part."""
    return [row for lang in ("en", "zh") for row in _decode(folder / f"{lang}-{part}.jsonl")]


def _decode(path: Path) -> Iterator[ValidationRow]:
    for line in _read_lines(path):
        yield msgspec.json.decode(line, type=ValidationRow)


def _read_lines(path: Path) -> list[bytes]:
    """Return the lines of a file, which may be compressed, or nothing if it does not exist."""
    compressed = path.with_name(f"{path.name}.gz")
    if compressed.is_file():
        return gzip.decompress(compressed.read_bytes()).splitlines()
    return path.read_bytes().splitlines() if path.is_file() else []


def read_final_labels(folder: Path, part: Part) -> dict[str, dict[str, bool]]:
    """Return the adjudicated labels of a part, or its author's labels if no one else labelled it."""
    return read_labels(folder, "adjudicated", part) or read_labels(folder, "author", part)


def read_labels(folder: Path, labeller: str, part: Part) -> dict[str, dict[str, bool]]:
    """Return the labels of a labeller by the ID of the row."""
    path = folder / "labels" / f"{labeller}-{part}.jsonl"
    return {record["id"]: record for record in map(json.loads, _read_lines(path))}
