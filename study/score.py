"""Compute the scores of all recordings again after a change to the scorer.

    python -m study score [--rgb DIR] [--check]

The synthetic data is generated again. Recordings of RGB's data need its files: DIR, or the folder to which
`ragbed data get rgb` downloads them. `--check` compares the scores with the stored ones and writes nothing.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from ragbed import __version__
from ragbed.data.catalog import CATALOG, folder_of
from ragbed.environment import data_dir
from study.copies import remove_copies
from study.recordings import (
    Recording,
    RecordingBuilder,
    read_recording,
    recording_paths,
    score_trial,
    write_recording,
)
from study.replay import match_cases, open_data, to_completion


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


def main(arguments: list[str]) -> None:
    """Score all recordings whose data is available."""
    parser = argparse.ArgumentParser(prog="python -m study score", description=__doc__)
    parser.add_argument("--rgb", type=Path, default=folder_of(CATALOG["rgb"], data_dir()))
    parser.add_argument("--check", action="store_true")
    given = parser.parse_args(arguments)
    changed = missing = 0
    with open_data(given.rgb if given.rgb.is_dir() else None) as folders:
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
