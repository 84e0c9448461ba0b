"""Logs of harnesses that asked an exported testbed: Inspect AI's, and the samples of lm-evaluation-harness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

import msgspec

from ragbed.errors import DataError, UsageError
from ragbed.runs.answer_files import decode_entry
from ragbed.runs.importing import Answer, Unmatched, numbered_lines
from ragbed.schema import Case, Completion
from ragbed.testbeds.prompts import prompt_hash

FAILED = "harness-error"
"""The kind of error of a sample that the harness could not get a reply to."""


class _Document(msgspec.Struct):
    """What an exported task puts into every document of lm-eval."""

    case: str
    prompt: str


class _Sample(msgspec.Struct):
    """What we read of a line of lm-eval."""

    doc: _Document
    resps: list[list[str]]


class _Told(msgspec.Struct):
    """What we take from a sample of Inspect."""

    case: str
    prompt: str | None
    epoch: int
    reply: str
    finish: str | None = None
    error: str | None = None


@dataclass
class LogFiles:
    """Logs by one model; how an entry is read is what harnesses differ in."""

    paths: Sequence[Path]
    model: str
    identity: str
    lay_out: Callable[[], Iterable[Case]]
    _cases: dict[str, Case] = field(default_factory=dict)

    def cases(self) -> Iterable[Case]:
        """Everything that was to be asked."""
        if not self._cases:
            self._cases = {case.case: case for case in self.lay_out()}
        return self._cases.values()

    def _find(self, name: str, prompt: str | None) -> Case:
        self.cases()
        case = self._cases.get(name)
        if case is None:
            raise Unmatched(f"{name} is no case of this layout")
        if case.feasible and prompt != (ours := prompt_hash(case.messages)):
            raise Unmatched(f"{name} was asked with another prompt ({prompt}) than this layout has ({ours})")
        return case


class LmEvalSamples(LogFiles):
    """Files `samples_<task>_<time>.jsonl`, which `lm_eval --log_samples` writes."""

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Their lines."""
        return numbered_lines(path)

    def match(self, entry: bytes) -> Answer:
        """By the name of the case and the hash of its prompt."""
        told = decode_entry(entry, _Sample)
        case = self._find(told.doc.case, told.doc.prompt)
        if len(told.resps) != 1 or len(told.resps[0]) != 1:
            raise Unmatched(f"{case.case} has several replies; run the task with one for each document")
        return Answer(case, Completion(outcome="ok", reply=told.resps[0][0]))


class InspectLogs(LogFiles):
    """Files `….eval` or `….json`, which `inspect eval` writes."""

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Their samples, one after the other."""
        from inspect_ai.log import read_eval_log_samples  # noqa: PLC0415 - an extra

        for sample in read_eval_log_samples(str(path), all_samples_required=False):
            told = _Told(
                case=str(sample.id),
                prompt=(sample.metadata or {}).get("prompt"),
                epoch=sample.epoch,
                reply=sample.output.completion,
                finish=sample.output.stop_reason if sample.output.choices else None,
                error=sample.error.message if sample.error else None,
            )
            yield f"{told.case} epoch {told.epoch}", msgspec.json.encode(told)

    def match(self, entry: bytes) -> Answer:
        """By the name of the case and the hash of its prompt."""
        told = decode_entry(entry, _Told)
        case = self._find(told.case, told.prompt)
        if told.epoch > 1:
            raise Unmatched(f"{told.case} was asked more than once; the first epoch is taken")
        if told.error is not None or told.finish is None:
            return Answer(case, Completion(outcome="error", error=f"{FAILED}: {told.error or 'no output'}"))
        return Answer(case, Completion(outcome="ok", reply=told.reply, finish=told.finish))


def open_inspect(paths: Sequence[Path], model: str | None, lay_out: Callable[[], Iterable[Case]]) -> list[InspectLogs]:
    """Logs of Inspect, by the model that they say was asked, or that is named here.

    Raises:
        UsageError: Inspect is not installed.
        DataError: A file is no log.
    """
    if find_spec("inspect_ai") is None:
        raise UsageError("logs of Inspect are read by Inspect itself: pip install 'ragbed[inspect]'.")
    by_model: dict[str, list[Path]] = {}
    for path in paths:
        by_model.setdefault(model or _model_of(path), []).append(path)
    return [InspectLogs(its, name, "inspect", lay_out) for name, its in by_model.items()]


def _model_of(path: Path) -> str:
    from inspect_ai.log import read_eval_log  # noqa: PLC0415 - an extra

    if not path.is_file():
        raise UsageError(f"{path}: no such file.")
    try:
        return str(read_eval_log(str(path), header_only=True).eval.model)
    except Exception as error:  # whatever Inspect makes of a file that is no log
        raise DataError(path, f"is no log of Inspect: {error}") from error
