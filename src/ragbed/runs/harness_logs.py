"""Read the logs that Inspect AI and lm-evaluation-harness write when they run exported testbeds."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ragbed.errors import DataError, UsageError
from ragbed.io.locations import check_regular
from ragbed.models.base import completed
from ragbed.runs.importing import Answer, AnswerSource, Unmatched, decode_entry
from ragbed.schema import Case, Completion
from ragbed.testbeds.prompts import prompt_hash

if TYPE_CHECKING:
    from inspect_ai.log import EvalSample

FAILED = "harness-error"  # the error kind for a sample without a response
FINISH = {"max_tokens": "length", "model_length": "length"}  # maps Inspect's stop reasons to our finish reasons


class _Document(msgspec.Struct):
    """The fields that an exported task adds to every lm-eval document."""

    case: str
    prompt: str


class _LmEvalSample(msgspec.Struct):
    doc: _Document
    resps: list[list[str]]


class _InspectSample(msgspec.Struct):
    case: str
    prompt: str | None
    epoch: int
    reply: str
    finish: str | None = None
    error: str | None = None


class _LogFiles(AnswerSource):
    def _find(self, name: str, prompt: str | None) -> Case:
        case = self.cases().get(name)
        if case is None:
            raise Unmatched(f"no case named {name} exists with these settings")
        if case.feasible and prompt != (ours := prompt_hash(case.messages)):
            raise Unmatched(f"the logged prompt of {name} (hash {prompt}) differs from the case's prompt (hash {ours})")
        return case


class LmEvalSamples(_LogFiles):
    """The `samples_<task>_<time>.jsonl` files written by `lm_eval --log_samples`."""

    def match(self, entry: bytes) -> Answer:
        """Match a sample to its case by case name and prompt hash."""
        sample = decode_entry(entry, _LmEvalSample)
        case = self._find(sample.doc.case, sample.doc.prompt)
        if len(sample.resps) != 1 or len(sample.resps[0]) != 1:
            raise Unmatched(f"{case.case} has several responses; rerun the task with one response per sample")
        return Answer(case, completed(sample.resps[0][0], None, None))


class InspectLogs(_LogFiles):
    """The `.eval` and `.json` files written by `inspect eval`."""

    def entries(self, path: Path) -> Iterator[tuple[str, bytes]]:
        """Yield a log's samples, each with its case name and epoch."""
        for sample in _read_samples(path):
            fields = _InspectSample(
                case=str(sample.id),
                prompt=(sample.metadata or {}).get("prompt"),
                epoch=sample.epoch,
                reply=sample.output.completion,
                finish=sample.output.stop_reason if sample.output.choices else None,
                error=sample.error.message if sample.error else None,
            )
            yield f"{fields.case} epoch {fields.epoch}", msgspec.json.encode(fields)

    def match(self, entry: bytes) -> Answer:
        """Match a sample to its case by case name and prompt hash."""
        sample = decode_entry(entry, _InspectSample)
        case = self._find(sample.case, sample.prompt)
        if sample.epoch > 1:
            raise Unmatched(f"{sample.case} has several epochs; only the first epoch is imported")
        if sample.error is not None or sample.finish is None:
            return Answer(case, Completion(outcome="error", error=f"{FAILED}: {sample.error or 'no output'}"))
        finish = FINISH.get(sample.finish, sample.finish)
        if finish == "content_filter":
            return Answer(case, Completion(outcome="filtered", finish=finish))
        return Answer(case, completed(sample.reply, finish, None))


def open_inspect(paths: Sequence[Path], model: str | None, generate: Callable[[], Iterable[Case]]) -> list[InspectLogs]:
    """Return Inspect logs grouped by model: the given model or, if it is None, the one named in each log.

    Raises:
        UsageError: Inspect is not installed.
        DataError: A file is not a log.
    """
    if find_spec("inspect_ai") is None:
        raise UsageError("Inspect logs require inspect_ai: pip install 'ragbed[inspect]'.")
    by_model = defaultdict(list)
    for path in paths:
        check_regular(path, follow_links=True)
        logged = _model_of(path)
        by_model[model or logged].append(path)
    return [InspectLogs(files, name, "inspect", generate) for name, files in by_model.items()]


def _model_of(path: Path) -> str:
    from inspect_ai.log import read_eval_log  # noqa: PLC0415 - an extra

    with _report_invalid(path):
        return str(read_eval_log(str(path), header_only=True).eval.model)


def _read_samples(path: Path) -> Iterator[EvalSample]:
    from inspect_ai.log import read_eval_log_samples  # noqa: PLC0415 - an extra

    with _report_invalid(path):
        yield from read_eval_log_samples(str(path), all_samples_required=False)


@contextmanager
def _report_invalid(path: Path) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # Inspect may raise any exception for files in other formats
        raise DataError(
            path, f"is not a valid Inspect log ({error}); choose a file written by `inspect eval`"
        ) from error
