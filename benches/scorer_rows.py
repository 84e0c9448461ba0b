"""Read the labelled responses to which the robust scorer is fitted and calibrated, and on which it is validated."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias, get_args

from ragbed.schema import Case, Document, Lang
from ragbed.scoring.robust.verdict import RobustVerdict, judge
from ragbed.scoring.value import Value
from tests.scoring.robust.adversarial_cases import read_cases
from tests.scoring.robust.cases import make_case

FOLDER = Path(__file__).parents[1] / "tests" / "scoring"
# The parts of the validation sets: development rows, and rows that were held out until they were scored.
_Used: TypeAlias = Literal["dev", "held-out", "dev-2", "held-out-2", "dev-3", "held-out-3", "dev-4", "held-out-4"]
Part: TypeAlias = _Used | Literal["held-out-5", "held-out-6"]  # the last two are only for final measurements
PARTS = get_args(_Used)
CALIBRATION: Part = "held-out-4"  # the part on which the models are calibrated, but to which they are not fitted
LABELS = ("correct", "refused", "flagged")
_ORDINARY = ("gold only", "rival only", "set-phrase refusal", "number and date variants")
_MAX_VALUE = 40  # maximum number of characters of a document that consists only of a value


class LabelledRow(NamedTuple):
    """A response with its labels; `stratum` is empty for cases that were written as tests."""

    source: str
    stratum: str
    case: Case
    reply: str
    labels: dict[str, bool]

    @property
    def is_ordinary(self) -> bool:
        """Whether the response is of a kind that models often give."""
        return self.stratum in _ORDINARY

    def is_wrong(self, values: Mapping[str, Value], names: Sequence[str] = LABELS, prefix: str = "") -> bool:
        """Return whether any of these scores differs from its label."""
        return any(bool(values[f"{prefix}{name}"]) != self.labels[name] for name in names if name in self.labels)


class Judged(NamedTuple):
    """A labelled row with its verdict."""

    row: LabelledRow
    judged: RobustVerdict

    @property
    def has_parts(self) -> bool:
        """Whether the answer has several parts."""
        return len(self.row.case.answer) > 1


def read_part(part: Part) -> Iterator[LabelledRow]:
    """Yield the rows of a part; tests/scoring/validation/README.md describes the files."""
    labels = read_labels("adjudicated", part) or read_labels("author", part)
    for lang in get_args(Lang):
        for record in _read_records(FOLDER / "validation" / f"{lang}-{part}.jsonl.gz"):
            documents = [_read_document(at, each) for at, each in enumerate(record.get("documents", []))]
            case = make_case(record["question"], record["answer"], record.get("fake"), lang, documents)
            yield LabelledRow(part, record["stratum"], case, record["response"], labels[record["id"]])


def read_written(lang: Lang) -> Iterator[LabelledRow]:
    """Yield the cases of a language that regression tests check or that were written for training."""
    for folder in ("adversarial", "phrasings", "training"):
        for each in read_cases(lang, folder):
            labels = {name: bool(getattr(each, name)) for name in LABELS}
            yield LabelledRow(folder, "", each.case, each.reply, labels)


def read_pairs(lang: Lang) -> Iterator[LabelledRow]:
    """Yield the labelled responses of a language without documents."""
    for pair in _read_records(FOLDER / "labelled" / f"{lang}.jsonl"):
        case = make_case(pair["question"], pair["answer"], pair["fake"], lang)
        yield LabelledRow("labelled", pair["half"], case, pair["reply"], pair["labels"])


def read_all_sets() -> Iterator[LabelledRow]:
    """Yield the rows of all validation sets but the held-out one, and the labelled responses without documents."""
    for part in PARTS:
        yield from read_part(part)
    for lang in get_args(Lang):
        yield from read_pairs(lang)


def judge_rows(rows: Iterable[LabelledRow]) -> list[Judged]:
    """Return the verdicts on rows."""
    return [Judged(row, judge(row.case, row.reply)) for row in rows]


def read_labels(labeller: str, part: Part) -> dict[str, dict[str, bool]]:
    """Return the labels of a labeller by the ID of the row."""
    records = _read_records(FOLDER / "validation" / "labels" / f"{labeller}-{part}.jsonl.gz")
    return {record["id"]: record for record in records}


def _read_document(at: int, record: dict[str, Any]) -> Document:
    text, stance, kind = record["text"], record.get("stance", "distracts"), record.get("kind", "related")
    # Rows that were written for the set have a rival value instead of a document.
    states = record.get("states") or (text if len(text) <= _MAX_VALUE else None)
    return Document(text=text, stance=stance, kind=kind, source=at, states=states)


def _read_records(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    content = path.read_bytes()
    return [json.loads(line) for line in (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()]
