"""Create a small run to damage or manipulate, and list every command that reads a run."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from urllib.parse import quote, urlencode

import msgspec

from benches.torture.bounds import AT_ONCE, Command, Ended, Running, Tally, hang_s, run_all
from tests.cli.typed import type_command
from tests.served import Served

RUN = "runs/run"
"""Path of the run in a trial's folder."""
READING: dict[str, tuple[str, ...]] = {
    "status": ("status", RUN, "--json"),
    "report": ("report", RUN, "-f", "md"),
    "report-html": ("report", RUN, "-f", "html", "-o", "report.html"),
    "export": ("export", RUN, "--to", "jsonl", "-o", "trials.jsonl", "--canonical"),
    "export-archive": ("export", RUN, "--to", "archive", "-o", "run.zip"),
    "compare": ("compare", f"{RUN}:scripted/majority", "../sound/runs/run:scripted/gullible", "--json"),
    "diagnose": ("diagnose", RUN, "--json"),
    "merge": ("merge", RUN, "-o", "merged"),
    "judge": ("judge", RUN, "-m", "scripted/refuser", "--sample", "6", "-o", "labels.jsonl"),
    "site": ("report", "runs", "-f", "site", "-o", "site"),
}
"""Commands that read a run, by name; `view` is tested by `try_views`."""
_ENDED_BY_US = frozenset({0, 130, 143, -15})


def make_sound(folder: Path) -> Path:
    """Create a complete run of two models with judgements, labels and a diagnosis; return the trial's folder."""
    run = folder / "sound" / RUN
    data = ("-d", "ragbed-mini-en_fact", "-d", "ragbed-mini-zh_base", "--limit", "3", "--cache", "off")
    models = ("-m", "scripted/majority", "-m", "scripted/gullible")
    assert type_command("run", *models, *data, "--out", str(run)).code == 0
    assert type_command("judge", str(run), "-m", "scripted/refuser", "--cache", "off").code == 0
    assert type_command("diagnose", str(run)).code == 0
    with chdir(folder / "sound"):
        for name, words in READING.items():  # this loads everything that the commands need into this process
            assert type_command(*words).code == 0, name
    for rest in run.rglob("run.sqlite-*"):
        rest.unlink()  # these files are empty, so nothing is lost
    return folder / "sound"


def copy_sound(sound: Path, name: str) -> Path:
    """Copy the valid run as the input for a trial; return the trial's folder."""
    place = sound.parent / name
    shutil.copytree(sound / "runs", place / "runs")
    return place


def reading_commands(places: Sequence[Path]) -> Iterator[Command]:
    """Yield all commands that read a run, for each trial's run."""
    for place in places:
        yield from (Command(name, words, place) for name, words in READING.items())


def try_views(places: Sequence[Path], tally: Tally) -> None:
    """Open each trial's run in the viewer, as a browser would."""
    lock = threading.Lock()

    def view(place: Path) -> None:
        problems = _view(place)
        with lock:
            tally.add("commands", f"{place.name} view", problems)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(view, places))


def _view(place: Path) -> list[str]:
    running = Running(Command("view", ("view", "runs", "--port", "0", "--rater", "ada"), place))
    address = running.first_line()
    if not address:
        return running.wait().problems()
    problems = _browse(Served(address, 0))
    ended = running.stop()
    if ended.code in _ENDED_BY_US:
        ended = replace(ended, code=0)
    return problems + ended.problems()


def _browse(served: Served) -> list[str]:
    """Request everything that the pages request; return what went wrong."""
    problems: list[str] = []
    served.enter()
    asked = ["/api/progress", "/api/overview", "/api/trials", "/api/trials?q=gold"]
    deadline = time.monotonic() + 3
    while asked:
        path, started = asked.pop(0), time.monotonic()
        try:
            status, _, body = served.ask("GET", path, headers={"Cookie": served.cookie})
        except (OSError, HTTPException) as error:
            problems.append(f"hang: {path}: {error}" if isinstance(error, TimeoutError) else f"crash: {path}: {error}")
            continue
        if body == b"Internal Server Error":  # errors that name their cause have a different text
            problems.append(f"crash: {path} answers {status}")
        if time.monotonic() - started > hang_s():
            problems.append(f"hang: {path}")
        if path == "/api/progress" and not _is_read(body) and time.monotonic() < deadline:
            asked.insert(0, path)
            time.sleep(0.1)
        if path == "/api/trials" and status == 200:
            asked += _case_paths(body)
    return problems


def _is_read(body: bytes) -> bool:
    runs = msgspec.json.decode(body)["runs"]
    return bool(runs) and all(run["problem"] or run["indexed"] >= run["results"] for run in runs)


def _case_paths(body: bytes) -> list[str]:
    trials = msgspec.json.decode(body)["rows"][:3]
    wanted = ("run", "case", "model", "repeat")
    return [f"/api/case?{urlencode({name: one.get(name, 0) for name in wanted}, quote_via=quote)}" for one in trials]


def try_reading(places: Sequence[Path], tally: Tally) -> Iterator[tuple[Command, Ended]]:
    """Run every reading command on each trial's run and count the results; yield each for further checks."""
    for command, ended in run_all(reading_commands(places)):
        tally.add("commands", f"{command.folder.name} {command.name}", ended.problems())
        yield command, ended
    try_views(places, tally)
