"""Read run files with flipped, zeroed, moved and missing bytes: each command gets the same data or reports an error."""

from __future__ import annotations

import random
import shutil
from contextlib import suppress
from pathlib import Path

from benches.torture.bounds import Command, Ended, Tally
from benches.torture.runs import RUN, copy_sound, make_sound, try_reading
from ragbed.errors import RagbedError
from tests.runs.harness import canonical

COUNT = 150
_PAGE = 4096
_HEADER = 100
"""Size of an SQLite file's header in bytes."""
_READS = 7
"""Number of damaged files that are only read, per file on which all commands are tested."""
_BATCH = 25
"""Number of trials whose folders are on disk at the same time."""


def damage(content: bytes, turn: int, draw: random.Random) -> bytes:
    """Return a copy with one kind of damage, chosen by `turn`."""
    spoilt = bytearray(content)
    at, size = draw.randrange(len(spoilt)), draw.choice((1, 8, 512, _PAGE))
    page, other = (draw.randrange(len(spoilt) // _PAGE) * _PAGE for _ in range(2))
    match turn % 8:
        case 0:
            del spoilt[at:]
        case 1 | 2:
            spoilt[at] ^= 1 << draw.randrange(8)
        case 3:
            spoilt[at : at + size] = bytes(len(spoilt[at : at + size]))
        case 4:
            spoilt[at : at + size] = draw.randbytes(len(spoilt[at : at + size]))
        case 5:
            spoilt[draw.randrange(_HEADER)] = draw.randrange(256)
        case 6:  # replace a page with another one, together with the neighbour's first bytes, which give its type
            spoilt[page : page + _PAGE] = content[other : other + _PAGE]
            spoilt[other : other + 12] = draw.randbytes(12)
        case _:
            for _ in range(draw.randrange(2, 200)):
                spoilt[draw.randrange(len(spoilt))] ^= 1 << draw.randrange(8)
    return bytes(spoilt)


def torture(folder: Path, count: int, seed: int) -> bool:
    """Damage a run in many ways and read it with every command."""
    sound, draw, tally = make_sound(folder), random.Random(seed), Tally("damaged")
    content = (sound / RUN / "run.sqlite").read_bytes()
    again = copy_sound(sound, "again")
    told = {command.name: _told(command, ended) for command, ended in try_reading([again], Tally("sound"))}
    _read_rows(sound / RUN, content, count, tally)
    for first in range(0, count, _BATCH):
        places = []
        for turn in range(first, min(first + _BATCH, count)):
            places.append(copy_sound(sound, f"{turn:03}"))
            (places[-1] / RUN / "run.sqlite").write_bytes(damage(content, turn, draw))
            tally.add("files", places[-1].name)
        for command, ended in try_reading(places, tally):
            if ended.code == 0 and command.name in told and _told(command, ended) != told[command.name]:
                tally.add("differences", f"{command.folder.name} {command.name}", ["different: exit code 0"])
        for place in places:
            shutil.rmtree(place)
    return tally.close()


def _read_rows(run: Path, content: bytes, count: int, tally: Tally) -> None:
    """Read many more damaged files in this process; each must give the same rows or an error."""
    lines, draw, place = sorted(canonical(run).splitlines()), random.Random(count), run.parent.parent.parent / "rows"
    place.mkdir()
    for turn in range(_READS * count):
        for path in place.iterdir():
            path.unlink()
        (place / "run.sqlite").write_bytes(damage(content, turn, draw))
        with suppress(RagbedError):
            found = sorted(canonical(place).splitlines())
            tally.add("reads", f"read {turn}", ["different: rows"] if found != lines else [])
    tally.tried["reads"] = _READS * count


def _told(command: Command, ended: Ended) -> str:
    """Return what a command reports about the run, i.e. its output or the file that it writes."""
    written = command.folder / "trials.jsonl"
    return written.read_text("utf-8") if command.name == "export" else ended.out
