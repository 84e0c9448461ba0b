"""Build the leaderboard site of the study from its recordings.

    python -m study leaderboard [--rgb DIR] -o SITE

The runs are restored from the recordings, with cases that are generated again, and given to `ragbed leaderboard`.
Recordings of RGB's data need its files.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import ragbed
from study.recordings import read_recording, recording_paths
from study.replay import open_data, write_cassette

_RUNS = ("synthetic-main", "rgb-main")


def main(arguments: list[str]) -> None:
    """Write the site."""
    parser = argparse.ArgumentParser(prog="python -m study leaderboard", description=__doc__)
    parser.add_argument("--rgb", type=Path)
    parser.add_argument("-o", "--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    with open_data(given.rgb) as folders, tempfile.TemporaryDirectory() as folder:
        for path in recording_paths():
            recording = read_recording(path)
            data = folders.find(recording)
            if recording.run.run in _RUNS and data is not None:
                cassette = Path(folder) / f"{path.stem}.cassette"
                write_cassette(recording, data, cassette)
                ragbed.import_results(cassette, "cassette", Path(folder) / "runs" / path.stem)
        board = ragbed.leaderboard(Path(folder) / "runs", given.out)
    print(f"{len(board.entries)} runs on {board.path}.")
