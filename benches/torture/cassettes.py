"""Import malicious cassettes: each is imported completely or rejected with a message, and nothing else is written."""

from __future__ import annotations

import gzip
import io
import random
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from benches.torture.bounds import Command, Tally, run_all
from ragbed.io.cassette import CassetteWriter, read_cassette
from tests.cli.typed import type_command

COUNT = 160
_CANARY = "canary: this file must not change"
Lines: TypeAlias = list[bytes]
_BLOCK = 24_000_000
_HEAD = b'{"cassette": 1, "ragbed": "0"}'
_RUN = b'{"part": "run", "folder": "", "settings": {}, "models": [["m", ""]], "cases": 0}'
_PATHS = (
    *("../evil.jsonl", "a/../../evil", "judge/../../evil", ".hidden", "a/.hidden", "", ".", "..", "/"),
    *("run.sqlite", "run.sqlite-wal", "run.sqlite-journal", "lock", "acknowledged", "view.sqlite", "labels.jsonl/x"),
    *("a\\..\\evil", "a\x00b", "C:evil", "~/evil", "a" * 5_000, "/".join("a" * 500), "evil\n", "\u2025/evil", "con"),
)
_NUMBERS = ("-1", "1e3", "9223372036854775807", "9223372036854775808", "1" + "0" * 400, "null", '"1"', "1.5", "true")


def seal(lines: Iterable[bytes]) -> bytes:
    """Return a correctly sealed cassette with these lines."""
    sink = io.BytesIO()
    tape = CassetteWriter(sink)
    for line in lines:
        tape.write(line)
    tape.close()
    return sink.getvalue()


def fixed(lines: Lines, folder: Path) -> dict[str, bytes]:
    """Return cassettes that are malicious in known ways; `lines` are those of a valid one."""
    paths = (*_PATHS, str(folder / "evil.jsonl"))
    made = {f"path {path[:30]!r}": seal([_HEAD, _file_part(path), b"{}"]) for path in paths}
    made |= {f"folder {path[:30]!r}": seal([_HEAD, _run_part(folder=path)]) for path in paths}
    made |= {f"{number[:20]} cases": seal([_HEAD, _RUN.replace(b"0}", number.encode() + b"}")]) for number in _NUMBERS}
    made |= {f"{number[:20]} lines": seal([_HEAD, _count_lines(number)]) for number in _NUMBERS}
    for field in (b"model", b"case", b"repeat"):
        for number in _NUMBERS:
            made[f"{field.decode()} {number[:20]}"] = seal(_with_result(lines, field, number.encode()))
    return made | {
        "nothing": b"",
        "no lines": seal([]),
        "only a head": seal([_HEAD]),
        "head of the future": seal([b'{"cassette": 99, "ragbed": "9"}']),
        "head of 10^400": seal([b'{"cassette": 1' + b"0" * 400 + b', "ragbed": "9"}']),
        "head of great depth": seal([b"[" * 200_000]),
        "two heads": seal([_HEAD, *lines]),
        "two runs in one place": seal([*lines, *lines[1:]]),
        "the same case twice": seal([*lines[:3], *lines[2:]]),
        "the same result twice": seal([*lines, lines[-1]]),
        "results before the run": seal([_HEAD, *reversed(lines[1:])]),
        "a file over the run": seal([*lines, _file_part("run.sqlite"), b"x"]),
        "ten thousand runs": seal([_HEAD, *(_run_part(folder=f"judge/{n}") for n in range(10_000))]),
        "gigabytes in one line": bomb(b"x"),
        "gigabytes of lines": bomb(b"x\n"),
        "gigabytes of empty lines": bomb(b"\n"),
        "gzip in gzip": gzip.compress(seal(lines)),
        "two files in one": seal(lines) + seal(lines),
        "noise after the end": seal(lines) + random.Random(0).randbytes(10_000),
        "settings of a million": seal([_HEAD, _run_part(settings={f"s{n}": "1" for n in range(300_000)})]),
        "repeats of 10^30": seal([lines[0], _change(lines[1], settings={"repeats": str(10**30)}), *lines[2:]]),
    }


def bomb(unit: bytes) -> bytes:
    """Return two megabytes that decompress to 2.4 GB."""
    return gzip.compress(unit * (_BLOCK // len(unit)), 6, mtime=0) * (2_400_000_000 // _BLOCK)


def _file_part(path: str, lines: int = 1) -> bytes:
    return msgspec.json.encode({"part": "lines", "path": path, "lines": lines})


def _count_lines(number: str) -> bytes:
    return _file_part("labels.jsonl").replace(b":1}", b":" + number.encode() + b"}")


def _run_part(**changes: object) -> bytes:
    return _change(_RUN, **changes)


def _change(line: bytes, **changes: object) -> bytes:
    return msgspec.json.encode(msgspec.json.decode(line) | changes)


def _with_result(lines: Lines, field: bytes, number: bytes) -> Lines:
    """Change one number in the last result."""
    result = msgspec.json.decode(lines[-1])
    text = msgspec.json.encode(result | {field.decode(): 7_007})
    return [*lines[:-1], text.replace(b"7007", number)]


def mutate(lines: Lines, draw: random.Random) -> bytes:
    """Return a cassette with random changes, either to its lines (and sealed again) or to its bytes."""
    changed = list(lines)
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(changed))
        line = changed[at]
        match draw.randrange(4):
            case 0:
                changed.insert(at, draw.choice(changed))
            case 1:
                changed[at] = _flip(line, draw)
            case 2:
                changed[at] = line[: draw.randrange(len(line) + 1)]
            case _ if len(changed) > 1:
                del changed[at]
    sealed = seal(changed)
    return _flip(sealed, draw) if draw.random() < 0.2 else sealed


def _flip(line: bytes, draw: random.Random) -> bytes:
    spoilt = bytearray(line or b"x")
    for _ in range(draw.randrange(1, 4)):
        spoilt[draw.randrange(len(spoilt))] = draw.choice(b'{}[]",:0-9eE\\\x00\xff')
    return bytes(spoilt)


def torture(folder: Path, count: int, seed: int) -> bool:
    """Import malicious cassettes, and use them as models."""
    draw, tally, lines = random.Random(seed), Tally("cassettes"), _sound(folder)
    made = list(fixed(lines, folder).items())
    draw.shuffle(made)
    made += [(f"mutation {number}", mutate(lines, draw)) for number in range(max(0, COUNT - len(made)))]
    commands = (command for number, one in enumerate(made[:count]) for command in _commands(folder, number, *one))
    for command, ended in run_all(commands):
        problems, place = ended.problems(), command.folder
        problems += _outside(folder, place)
        if command.name == "import" and ended.code and (place / "out").exists():
            problems.append("incomplete: a refused cassette left a folder")
        tally.add("commands", f"{command.about}, {command.name}", problems)
    tally.tried["cassettes"] = len(made[:count])
    return tally.close()


def _outside(folder: Path, place: Path) -> Iterator[str]:
    """Yield the files that were written outside the new run."""
    if (place.parent / "canary").read_text("utf-8") != _CANARY:
        yield "changed: a file outside the run"
    written = {path.name for path in (*place.iterdir(), *place.parent.iterdir(), *folder.glob("evil*"))}
    strangers = written - {"cassette", "out", "asked", "canary", "here"}
    if strangers:
        yield f"outside: {strangers} was written"


def _commands(folder: Path, number: int, name: str, content: bytes) -> Iterable[Command]:
    asked = ("run", "-m", "cassette/cassette", "-d", "ragbed-mini-en_fact", "--limit", "1", "--no-cache")
    for command, words in (
        ("import", ("import", "cassette", "--from", "cassette", "--out", "out")),
        ("run", (*asked, "--out", "asked")),
    ):
        place = folder / f"{number:03}-{command}" / "here"
        place.mkdir(parents=True)
        (place.parent / "canary").write_text(_CANARY)
        (place / "cassette").write_bytes(content)
        yield Command(command, words, place, name)


def _sound(folder: Path) -> Lines:
    run, path = folder / "sound", folder / "sound.cassette"
    data = ("-d", "ragbed-mini-en_fact", "--limit", "2", "--no-cache", "--testbeds", "counterfactual")
    assert type_command("run", "-m", "scripted/majority", *data, "--out", str(run)).code == 0
    assert type_command("export", str(run), "--to", "cassette", "-o", str(path)).code == 0
    return list(read_cassette(path))
