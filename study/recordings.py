"""The reduced recordings of the study: conditions, responses and scores, without questions, documents and gold answers.

Responses to RGB's data refer to its files where they copy them; see `study/copies.py`.

A recording is a compressed text file. Its lines are the head, the description of the run, the conditions, the distinct
sets of scores, and one line per trial, which refers to a condition and scores by number. Each line starts with eight
digits of the SHA-256 of all lines so far; the last line has the complete hash.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from ragbed.analysis.trials.columns import Trial
from ragbed.errors import DataError
from ragbed.schema import Case, Completion
from ragbed.scoring import score_outcome
from ragbed.scoring.additional import score_additional
from ragbed.scoring.value import Value
from study import RECORDINGS

VERSION = 4
ENDING = ".recording"
_DIGITS, _END = 8, b"end "

# A text, or the start and length of a passage in the data file.
Segment = str | tuple[int, int]
StoredReply = str | tuple[Segment, ...]


class RecordingHead(Struct, frozen=True, forbid_unknown_fields=True):
    """The first line: the version of the format, and the version of ragbed that computed the scores."""

    recording: int
    ragbed: str


class RecordedModel(Struct, frozen=True, forbid_unknown_fields=True):
    """The evaluated model: its name, its public repository and file, the file's SHA-256, and how it was run."""

    name: str
    repository: str
    file: str
    sha256: str
    identity: str


class RecordedRun(Struct, frozen=True, forbid_unknown_fields=True):
    """The description of a run.

    Attributes:
        run: Name in `study/record.sh`.
        model: The evaluated model.
        settings: Settings of the run, with the hashes of its data.
        prompts: SHA-256 of the names and messages of all cases, sorted by name.
        wall_s: Duration of the run in seconds, with loading the model and exporting.
    """

    run: str
    model: RecordedModel
    settings: dict[str, str]
    prompts: str
    wall_s: int


class Condition(Struct, frozen=True, array_like=True):
    """The fields of a case that are the same for all items."""

    data: str
    lang: str
    testbed: str
    profile: str
    noise: float | None
    true_ratio: float
    k: int
    arm: str
    seed: int


class RecordedTrial(Struct, frozen=True, array_like=True):
    """A trial, or an infeasible case, which has no response.

    Attributes:
        condition: Index of the condition.
        case: Name of the case.
        item: ID of the question.
        event: The question's event; a hash if several items ask the same question, whose text it would contain.
        noise_real: Actual fraction of distractors.
        slots: Positions of the documents with an answer.
        repeat: Index of the response to the case.
        outcome: Outcome, or `infeasible`.
        scores: Index of the scores; None if there is no response.
        usage: Numbers of prompt and response tokens.
        finish: Finish reason.
        reply: The response, or its segments.
        steps: The response and token counts of each call, if there are several calls or the response is parsed.
        error: Type of the error, if there is no response.
    """

    condition: int
    case: str
    item: str
    event: str | None
    noise_real: float | None
    slots: tuple[int, ...]
    repeat: int
    outcome: str
    scores: int | None = None
    usage: tuple[int, int] | None = None
    finish: str | None = None
    reply: StoredReply | None = None
    steps: tuple[tuple[StoredReply | None, tuple[int, int] | None], ...] = ()
    error: str | None = None


@dataclass(frozen=True)
class Recording:
    """A run of the study."""

    run: RecordedRun
    conditions: list[Condition]
    scores: list[dict[str, Value]]
    trials: list[RecordedTrial]

    @property
    def name(self) -> str:
        """The name of the recording's file."""
        return f"{self.run.model.name}.{self.run.run}"

    @property
    def is_rgb(self) -> bool:
        """Whether the run used RGB's data, which may not be redistributed."""
        return self.run.run.startswith("rgb-")

    def scored(self) -> Iterator[Trial]:
        """Yield the trials for the analysis."""
        for trial in self.trials:
            condition = self.conditions[trial.condition]
            fields = msgspec.structs.asdict(condition)
            yield Trial(
                model=self.run.model.name,
                item=trial.item,
                slots=trial.slots,
                repeat=trial.repeat,
                outcome=trial.outcome,  # type: ignore[arg-type]  # the values are those of a case
                cluster=trial.event,
                scores=None if trial.scores is None else self.scores[trial.scores],
                correct=fields.pop("true_ratio"),
                **fields,
            )


class RecordingBuilder:
    """Collects the trials of a run, and numbers their conditions and scores."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._conditions: dict[Condition, int] = {}
        self._scores: dict[bytes, int] = {}
        self._trials: list[RecordedTrial] = []

    def add(
        self, case: Case, scores: dict[str, Any] | None, completion: Completion | None = None, repeat: int = 0
    ) -> None:
        """Add a trial, or an infeasible case without a completion."""
        fields = {name: getattr(case, name) for name in Condition.__struct_fields__}
        number = self._conditions.setdefault(Condition(**fields), len(self._conditions))
        trial = RecordedTrial(
            number, case.case, case.item, _event_of(case), case.noise_real, case.slots, repeat, "infeasible"
        )
        if completion is not None:
            trial = msgspec.structs.replace(
                trial,
                outcome=completion.outcome,
                usage=_tokens(completion.usage),
                finish=completion.finish,
                reply=completion.reply,
                steps=tuple((step.reply, _tokens(step.usage)) for step in completion.steps),
                error=completion.error,
            )
        self.add_scored(trial, scores)

    def add_scored(self, trial: RecordedTrial, scores: dict[str, Any] | None) -> None:
        """Add a trial with its scores; its condition must already be known."""
        index = None
        if scores is not None:
            index = self._scores.setdefault(msgspec.json.encode(scores, order="sorted"), len(self._scores))
        self._trials.append(msgspec.structs.replace(trial, scores=index))

    def build(self) -> Recording:
        """Return the recording."""
        decoded = [_decode_scores(line) for line in self._scores]
        return Recording(self._run, list(self._conditions), decoded, self._trials)


def score_trial(case: Case, completion: Completion) -> dict[str, Any] | None:
    """Return the scores of all scorers and those that do not depend on the scorer, or None if there is no response."""
    values = score_outcome(case, completion)
    return None if values is None else values | score_additional(case, completion, values)


def _event_of(case: Case) -> str | None:
    """Return a case's event without the text of a question."""
    if case.event is None or not case.event.startswith("question "):
        return case.event
    return f"question-{hashlib.sha256(case.event.encode()).hexdigest()[:_DIGITS]}"


def _tokens(usage: dict[str, int] | None) -> tuple[int, int] | None:
    return None if usage is None else (usage.get("in", 0), usage.get("out", 0))


def _decode_scores(line: bytes) -> dict[str, Value]:
    decoded: dict[str, Any] = msgspec.json.decode(line)
    return {name: tuple(value) if isinstance(value, list) else value for name, value in decoded.items()}


def write_recording(recording: Recording, version: str, folder: Path = RECORDINGS) -> Path:
    """Write a recording, and return its path. The same recording always gives the same bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    path, encoder = folder / f"{recording.name}{ENDING}", msgspec.json.Encoder(order="sorted")
    lines: Iterable[object] = (
        RecordingHead(VERSION, version),
        recording.run,
        recording.conditions,
        recording.scores,
        *recording.trials,
    )
    digest = hashlib.sha256()
    with path.open("wb") as sink, gzip.GzipFile("", "wb", 6, sink, mtime=0) as packed:
        for line in lines:
            content = encoder.encode(line) + b"\n"
            digest.update(content)
            packed.write(digest.hexdigest()[:_DIGITS].encode() + b" " + content)
        packed.write(_END + digest.hexdigest().encode() + b"\n")
    return path


def _read_lines(path: Path) -> Iterator[bytes]:
    """Yield the lines of a recording, and check the hash at its end."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path) as source:
            for line in source:
                if line == _END + digest.hexdigest().encode() + b"\n":
                    return
                content = line[_DIGITS + 1 :]
                digest.update(content)
                yield content
    except (EOFError, OSError, zlib.error) as error:
        raise DataError(path, f"is truncated or damaged ({error})") from error
    raise DataError(path, "is truncated or damaged (its hash is wrong)")


def read_recording(path: Path) -> Recording:
    """Read a recording.

    Raises:
        DataError: The file was modified, or another version of the format is required.
    """
    lines = _read_lines(path)
    try:
        head = msgspec.json.decode(next(lines, b""), type=RecordingHead)
        if head.recording != VERSION:
            raise DataError(path, f"has version {head.recording} of the format, but this code reads version {VERSION}")
        run = msgspec.json.decode(next(lines, b""), type=RecordedRun)
        conditions = msgspec.json.decode(next(lines, b""), type=list[Condition])
        scores = [_decode_scores(msgspec.json.encode(entry)) for entry in msgspec.json.decode(next(lines, b""))]
        decoder = msgspec.json.Decoder(RecordedTrial)
        return Recording(run, conditions, scores, [decoder.decode(line) for line in lines])
    except msgspec.DecodeError as error:
        raise DataError(path, f"is not a recording of the study: {error}") from error


def recording_paths(folder: Path = RECORDINGS) -> list[Path]:
    """Return the recordings in a folder."""
    return sorted(folder.glob(f"*{ENDING}"))
