"""Turn recordings into complete runs again, with cases that are generated from the data."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from ragbed import __version__
from ragbed.errors import UsageError
from ragbed.io.cassette import VERSION, CassetteResult, CassetteWriter, Head, RunPart
from ragbed.schema import Case, Completion, Step
from ragbed.testbeds.prompts.strategies import flow_of
from study.cases import generate_cases, hash_prompts, write_synthetic
from study.copies import restore_copies
from study.recordings import RecordedTrial, Recording, StoredReply


@dataclass
class DataFolders:
    """The folders of the data; `rgb` is None if RGB's files are not available."""

    synthetic: Path
    rgb: Path | None

    def find(self, recording: Recording) -> Path | None:
        """Return the folder with a run's data."""
        return self.rgb if recording.is_rgb else self.synthetic / recording.run.run.partition("-")[0]


@contextmanager
def open_data(rgb: Path | None) -> Iterator[DataFolders]:
    """Generate the synthetic data in a temporary folder, for as long as it is needed."""
    with tempfile.TemporaryDirectory() as folder:
        synthetic = Path(folder) / "synthetic"
        write_synthetic(synthetic)
        yield DataFolders(synthetic, rgb)


def match_cases(recording: Recording, data: Path) -> Iterator[tuple[Case, RecordedTrial]]:
    """Return each trial of a recording with its exact response and its case, which is generated again.

    Raises:
        UsageError: The generated prompts differ from those that were sent.
    """
    cases = generate_cases(recording.run.settings, data)
    if hash_prompts(cases) != recording.run.prompts:
        raise UsageError(
            f"The prompts of {recording.name} differ from those that were sent, because this version of ragbed "
            "generates other cases. Use the version that recorded the run, or record it again (study/record.sh)."
        )
    known = {case.case: case for case in cases}
    return ((known[trial.case], trial) for trial in restore_copies(recording, data).trials)


def to_completion(case: Case, trial: RecordedTrial) -> Completion:
    """Return the recorded response; the messages of later calls follow from the responses to earlier ones."""
    return Completion(
        outcome=trial.outcome,  # type: ignore[arg-type]  # infeasible cases have no response
        reply=_exact(trial.reply),
        finish=trial.finish,
        usage=_usage(trial.usage),
        steps=tuple(_steps(case, trial)),
        confidence=trial.confidence,
        error=trial.error,
    )


def _usage(tokens: tuple[int, int] | None) -> dict[str, int] | None:
    return None if tokens is None else dict(zip(("in", "out"), tokens, strict=True))


def _exact(reply: StoredReply | None) -> str | None:
    """Return a response, which must have been restored with `restore_copies`."""
    if isinstance(reply, tuple):
        raise TypeError("a response with references to a data file must be restored first")
    return reply


def _steps(case: Case, trial: RecordedTrial) -> Iterator[Step]:
    flow = flow_of(case) if trial.steps else None
    if flow is None:
        return
    messages = next(flow)
    for number, (stored, usage) in enumerate(trial.steps, 1):
        reply = _exact(stored)
        yield Step(messages=messages, reply=reply, usage=_usage(usage))
        if number < len(trial.steps):
            messages = flow.send(reply or "")


def write_cassette(recording: Recording, data: Path, path: Path) -> None:
    """Write a recording as a complete cassette, which `ragbed import --from cassette` turns into a run."""
    model = recording.run.model
    matched = list(match_cases(recording, data))
    cases = list({case.case: case for case, _ in matched}.values())
    numbers, encoder = {case.case: number for number, case in enumerate(cases)}, msgspec.json.Encoder()
    part = RunPart(
        folder="",
        settings=recording.run.settings,
        models=((f"hf/{model.repository}", f"{model.sha256[:16]};{model.identity}"),),
        cases=len(cases),
    )
    with path.open("wb") as sink:
        writer = CassetteWriter(sink)
        for line in (Head(cassette=VERSION, ragbed=__version__), part, *cases):
            writer.write(encoder.encode(line))
        for case, trial in matched:
            if trial.outcome != "infeasible":
                completion = to_completion(case, trial)
                request = hashlib.sha256(encoder.encode(case.messages)).hexdigest()
                result = CassetteResult(
                    model=0, case=numbers[case.case], repeat=trial.repeat, request=request, completion=completion
                )
                writer.write(encoder.encode(result))
        writer.close()
