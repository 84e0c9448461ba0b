"""What each command prints: every file in `tests/transcripts` has commands with their output.

A line that starts with `$ ` is a command: `ragbed`, or `cat` with a file. The lines below it are its standard output,
its standard error and, if it is not 0, its exit code. To record another command, add such a line. The commands of a
file run in a temporary folder with copies of `tests/transcripts/files`, a folder `docs` of articles, and two models on
a server: `openai-api/recorded/m`, and `openai-api/recorded/generator`, which writes questions about the articles.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import ragbed
from scripts.record import runs
from tests.builder.world_site import make_world
from tests.cli.typed import type_command
from tests.servers.function_model import ModelRequest, function_model

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "tests" / "transcripts"
_PROMPT = "$ "
# Calls are sent one by one, so that it does not depend on time which of two equal ones is read from the cache.
_ENVIRON = {
    "RAGBED_CACHE_DIR": ".cache", "RAGBED_DATA_DIR": ".data", "RAGBED_MAX_CONNECTIONS": "1", "COLUMNS": "120",
}  # fmt: skip
# Progress lines about unfinished work, which appear only if the machine is slow.
_PROGRESS = re.compile(r"[^:]+: (?:[\d,]+(?: of [\d,]+)?|(?P<done>[\d,]+) of (?!(?P=done),)[\d,]+, .*)")
# What depends on the machine, the time or the version of a package, with the name that replaces it.
_MASKS = (
    (r"https?://127\.0\.0\.1:\d+", "SERVER"),
    (r"\d+ (?:second|minute)s? old", "AGE old"),
    (r"\d\d:\d\d UTC", "TIME"),
    (r"\S*/site-packages", "SITE-PACKAGES"),
    (r"Python [\d.]+, \S+$", "Python VERSION, PLATFORM"),
    (r"(?<![\w.,])\d[\d,]*(?:\.\d+)? ?(?:ms|s|min|h)\b", "TIME"),
    (r"(?<![\w.,])\d[\d,]*(?:\.\d+)? ?[kM]?B\b", "SIZE"),
    (r" +(?:< )?0\.1$", "  MINUTES"),
    (r'("(?:seconds|wall_s|latency_s|bytes|created|cpu_s)": )[\d.]+', r"\1NUMBER"),
)


def record(path: Path) -> str:
    """Run the commands of a transcript, and return the transcript with their output."""
    commands = [line for line in path.read_text("utf-8").splitlines() if line.startswith(_PROMPT)]
    world = make_world()

    def respond(request: ModelRequest) -> str | tuple[int, object]:
        return world.reply(request.turns) if request.body["model"] == "generator" else runs.respond(request)

    with tempfile.TemporaryDirectory() as folder, function_model(respond) as url, contextlib.chdir(folder):
        shutil.copytree(FOLDER / "files", folder, dirs_exist_ok=True)
        world.write_folder(Path("docs"))
        environ = _ENVIRON | {"RECORDED_BASE_URL": url}
        lines = [line for command in commands for line in _run(command, environ)]
        names = {os.path.realpath(folder): "FOLDER", folder: "FOLDER", str(ROOT): "REPOSITORY"}
        names |= {datetime.now(tz=UTC).date().isoformat(): "TODAY", ragbed.__version__: "VERSION"}
        return "".join(f"{_mask(line, names)}\n" for line in lines)


def _run(command: str, environ: dict[str, str]) -> Iterator[str]:
    """Yield the lines of a transcript for a command."""
    program, *words = shlex.split(command.removeprefix(_PROMPT))
    yield command
    if program == "cat":
        yield from Path(words[0]).read_text("utf-8").splitlines()
    else:
        done = type_command(*words, env=environ)
        # A table wraps the path of the bundled model at places that depend on where ragbed is installed.
        for line in re.sub(r"smollm2:[^,]*?\.gguf", "smollm2: MODEL-FILE", done.out).splitlines():
            yield from _indented(line)
        messages = [line for line in done.err.splitlines() if not _PROGRESS.fullmatch(line)]
        yield from ("[stderr]", *messages) if messages else ()
        yield from (f"[exit code {done.code}]",) if done.code else ()
    yield ""


def _indented(line: str) -> list[str]:
    """Return a line of output, indented over several lines if it is a JSON object."""
    if not (line.startswith("{") and line.endswith("}")):
        return [line]
    return json.dumps(json.loads(line), indent=1, ensure_ascii=False).splitlines()


def _mask(line: str, names: dict[str, str]) -> str:
    for text, name in names.items():
        line = line.replace(text, name)
    for pattern, name in _MASKS:
        line = re.sub(pattern, name, line)
    return line.rstrip()
