"""Simulate a power failure: synced data of a run's files are kept, the rest is kept at random.

`strace` records the writes and syncs of a run in their order; from these the files can be made as they would be found
after a cut at any moment. A write that was not synced is there, is not, or is torn at a sector.
"""

from __future__ import annotations

import random
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ragbed.runs.store import open_store

TRACED = "pwrite64,ftruncate,fdatasync,fsync,?unlink,unlinkat,sendto"
_SECTOR = 512
_CALL = re.compile(r"^(\d+) +(\w+)\((.*)$")
_RESUMED = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>")
_ON_FILE = re.compile(r"\d+<([^>]*)>(?:, )?(.*)$")
_UNLINKED = re.compile(r'"([^"]*)"')
_WRITTEN = re.compile(r'"([^"]*)", \d+, (\d+)')


@dataclass(frozen=True)
class Event:
    """An operation of a process on a file, or a call that it sent (`send`)."""

    what: str
    file: str = ""
    at: int = 0
    data: bytes = b""


def read_trace(path: Path, folder: Path) -> Iterator[Event]:
    """Yield the events of a trace (`strace -f -y -xx`) on a folder's files; a sync counts when it is done."""
    syncing: dict[str, Event] = {}
    with open(path, encoding="ascii") as lines:
        for line in lines:
            resumed, call = _RESUMED.match(line), _CALL.match(line)
            if resumed and resumed[1] in syncing:
                yield syncing.pop(resumed[1])
            if call is None:
                continue
            event = _read_call(call[2], call[3], str(folder))
            if event is not None and event.what == "sync" and "<unfinished" in line:
                syncing[call[1]] = event
            elif event is not None:
                yield event


def _read_call(name: str, words: str, folder: str) -> Event | None:
    if name == "sendto":
        return Event("send") if r'"\x50\x4f\x53\x54' in words else None
    if name.startswith("unlink"):
        found = _UNLINKED.search(words)
        path, rest = (_bytes(found[1]).decode() if found else ""), ""
    else:
        about = _ON_FILE.match(words.split(" <unfinished", maxsplit=1)[0])
        path, rest = (_bytes(about[1]).decode("utf-8", "replace"), about[2]) if about else ("", "")
    if not path.startswith(f"{folder}/"):
        return None
    file = path.removeprefix(f"{folder}/")
    if name == "pwrite64":
        written = _WRITTEN.match(rest)
        return None if written is None else Event("write", file, int(written[2]), _bytes(written[1]))
    if name == "ftruncate":
        return Event("cut", file, int(rest.split(")")[0]))
    return Event("unlink" if name.startswith("unlink") else "sync", file)


def _bytes(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", "")) if text.startswith("\\x") else text.encode()


@dataclass
class Disk:
    """Files on disk, with the operations that are not synced yet."""

    synced: dict[str, bytearray] = field(default_factory=dict)
    loose: dict[str, list[Event]] = field(default_factory=dict)
    sends: int = 0
    """Calls that were sent so far."""

    def take(self, event: Event) -> None:
        """Apply an event."""
        if event.what == "send":
            self.sends += 1
        elif event.what == "unlink":
            self.synced.pop(event.file, None)
            self.loose.pop(event.file, None)
        elif event.what == "sync":
            content = self.synced.setdefault(event.file, bytearray())
            for one in self.loose.pop(event.file, ()):
                _apply(content, one)
        else:
            self.loose.setdefault(event.file, []).append(event)

    def cut_power(self, folder: Path, draw: random.Random | None) -> None:
        """Write the files as they are after the failure; without a random generator only synced data are kept."""
        for file in self.synced.keys() | self.loose.keys():
            content = bytearray(self.synced.get(file, b""))
            for event in self.loose.get(file, ()) if draw is not None else ():
                kept = draw.random() if draw is not None else 0.0
                if kept < 0.5:
                    torn = draw.randrange(len(event.data) // _SECTOR + 1) * _SECTOR if kept < 0.1 and draw else None
                    _apply(content, event, torn)
            (folder / file).write_bytes(content)


def _apply(content: bytearray, event: Event, torn: int | None = None) -> None:
    if event.what == "cut":
        del content[event.at :]
        return
    data = event.data[:torn]
    if len(content) < event.at:
        content.extend(bytes(event.at - len(content)))
    content[event.at : event.at + len(data)] = data


@dataclass(frozen=True)
class Found:
    """Return the results of a run."""

    replies: dict[str, str | None]
    intents: int


def after_cut(disk: Disk, folder: Path, draw: random.Random | None) -> Found:
    """Open a run after the power failure, as a resumed run does."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    disk.cut_power(folder, draw)
    with open_store(folder, create=True) as store:
        found = {result.case.case: result.completion.reply for result in store.results()}
        ((intents,),) = store.read("SELECT COUNT(*) FROM intents")
        return Found(found, intents)
