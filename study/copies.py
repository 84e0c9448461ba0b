"""Replace text that a response copies from RGB's files by references, because these files may not be redistributed.

A stored response is a text, or a sequence of segments. A segment is a text, or the start and length of a passage in the
data file of the case (`DataText`). With the file, the exact response can be restored. Without it, scores, outcomes and
finish reasons are still available.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from msgspec import structs

from ragbed.errors import UsageError
from study.recordings import Recording, Segment, StoredReply

# The minimum number of copied characters that are replaced, by language.
LIMITS = {"zh": 20, "en": 60}


class DataText:
    """All texts of a data file, in the order of the file, joined by null characters.

    Args:
        content: Content of the file, one JSON object per line.
        limit: Minimum length of a copied passage.
    """

    def __init__(self, content: str, limit: int) -> None:
        self.text = "\0".join(text for line in content.split("\n") if line for text in _strings(json.loads(line)))
        self._limit = limit
        # A passage of `limit` characters contains a complete n-gram that starts at a multiple of `step`.
        step = limit // 2
        self._width = limit - step + 1
        self._starts: dict[str, list[int]] = {}
        for start in range(0, len(self.text) - self._width + 1, step):
            self._starts.setdefault(self.text[start : start + self._width], []).append(start)

    def split(self, reply: str) -> StoredReply:
        """Return a response with references; the texts between them copy fewer characters than the limit."""
        segments: list[Segment] = []
        done = position = 0
        while position <= len(reply) - self._width:
            first, start, length = self._find(reply, done, position)
            if length < self._limit:
                position += 1
                continue
            if first > done:
                segments.append(reply[done:first])
            segments.append((start, length))
            done = position = first + length
        if not segments:
            return reply
        return (*segments, reply[done:]) if done < len(reply) else tuple(segments)

    def join(self, reply: StoredReply) -> str:
        """Return the exact response."""
        if isinstance(reply, str):
            return reply
        return "".join(part if isinstance(part, str) else self.text[part[0] : part[0] + part[1]] for part in reply)

    def _find(self, reply: str, done: int, position: int) -> tuple[int, int, int]:
        """Return the longest copied passage around a position: its starts in the response and the file, its length."""
        best = (position, 0, 0)
        for start in self._starts.get(reply[position : position + self._width], ()):
            before, after = 0, self._width
            while position - before > done and start > before and self._equal(reply, position, start, -before - 1):
                before += 1
            while position + after < len(reply) and self._equal(reply, position, start, after):
                after += 1
            if before + after > best[2]:
                best = (position - before, start - before, before + after)
        return best

    def _equal(self, reply: str, position: int, start: int, offset: int) -> bool:
        return self.text[start + offset : start + offset + 1] == reply[position + offset]


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for entry in value.values() if isinstance(value, dict) else value:
            yield from _strings(entry)


def find_data(settings: Mapping[str, str], folder: Path) -> list[Path]:
    """Return the data files of a run, in the order of the run, after checking their hashes.

    Raises:
        UsageError: A file is missing or differs from the recorded one.
    """
    found = []
    for name, expected in settings.items():
        if name.startswith("data "):
            data = name.removeprefix("data ")
            path = next((path for path in sorted(folder.glob(f"{data}.json*"))), folder / data)
            if not path.is_file():
                raise UsageError(f"{folder} does not contain the file {data}, which the run used.")
            actual = hashlib.sha256(path.read_bytes()).hexdigest()
            if actual != expected:
                raise UsageError(f"{path} has the SHA-256 {actual}, but the run used {expected}.")
            found.append(path)
    return found


def remove_copies(recording: Recording, folder: Path) -> Recording:
    """Return a recording of RGB's data whose responses refer to the files instead of copying them."""
    return _convert(recording, folder, lambda text, reply: text.split(text.join(reply)))


def restore_copies(recording: Recording, folder: Path) -> Recording:
    """Return a recording with the exact responses. The hashes of the files are checked first."""
    return _convert(recording, folder, lambda text, reply: text.join(reply))


def read_texts(recording: Recording, folder: Path) -> dict[str, DataText]:
    """Return the texts of a run's data files, by name."""
    limits = {condition.data: LIMITS[condition.lang] for condition in recording.conditions}
    paths: Mapping[str, Path] = {path.stem: path for path in find_data(recording.run.settings, folder)}
    return {data: DataText(paths[data].read_text(encoding="utf-8"), limit) for data, limit in limits.items()}


def _convert(recording: Recording, folder: Path, change: Callable[[DataText, StoredReply], StoredReply]) -> Recording:
    if not recording.is_rgb:
        return recording
    texts = read_texts(recording, folder)
    trials = []
    for trial in recording.trials:
        text = texts[recording.conditions[trial.condition].data]
        reply = None if trial.reply is None else change(text, trial.reply)
        steps = tuple((None if step is None else change(text, step), usage) for step, usage in trial.steps)
        trials.append(structs.replace(trial, reply=reply, steps=steps))
    return replace(recording, trials=trials)
