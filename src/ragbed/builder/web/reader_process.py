"""The child process that reads documents: `python -m ragbed.builder.web.reader_process MEMORY_BYTES CPU_S`.

Jobs come in and results go out as frames: four bytes of length and MessagePack. It limits its own memory and
the CPU time of each document; the parent limits the time on the clock and takes its death for an answer.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from typing import BinaryIO, Literal, TypeAlias

import msgspec

from ragbed.builder.web.documents import READERS, ExtractedText, ReadJob, Unreadable
from ragbed.builder.web.language_detection import tell_language
from ragbed.builder.web.links import Link, read_links
from ragbed.schema import Lang

ReadOutcome: TypeAlias = Literal[
    "ok",
    "type",  # a kind that nobody reads
    "size",  # larger than allowed
    "charset",  # not to be decoded
    "encrypted",
    "broken",  # not what its kind says
    "empty",  # no text
    "time",  # took too long
    "memory",  # needed too much
    "crashed",  # brought the reader down
]
LENGTH_BYTES = 4
_NOT_MEANT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class ReadResult(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one document."""

    outcome: ReadOutcome
    reason: str = ""
    text: str = ""
    title: str = ""
    date: str | None = None
    licence: str | None = None
    lang: Lang | None = None
    """None: another language than ours, or too little text to tell."""
    links: tuple[Link, ...] = ()


def read(job: ReadJob) -> ReadResult:
    """Reads one document."""
    if job.wants_links:
        try:
            return ReadResult(outcome="ok", links=tuple(read_links(job.body, job.content_type, job.url)))
        except ValueError as error:
            return ReadResult(outcome="broken", reason=str(error))
    reader = READERS.get(job.kind)
    if reader is None:
        return ReadResult(outcome="type", reason=f"documents of type {job.kind[:60]!r} are not read")
    try:
        found = reader(job)
    except Unreadable as unreadable:
        outcome, reason = unreadable.args
        return ReadResult(outcome=outcome, reason=reason)
    text = _tidy(found)
    if not text:
        return ReadResult(outcome="empty", reason="the document has no text")
    title = " ".join(found.title.split())
    lang = tell_language(text)
    return ReadResult(outcome="ok", text=text, title=title, date=found.date, licence=found.licence or None, lang=lang)


def _tidy(found: ExtractedText) -> str:
    """The text without characters that nobody meant: controls, and halves of pairs, which UTF-8 cannot hold."""
    return _NOT_MEANT.sub("", found.text).strip()


def _limit(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _allow_cpu(seconds: int) -> None:
    """From now on so much; then the system ends the process."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


def _serve(source: BinaryIO, sink: BinaryIO, cpu_s: int) -> None:
    decoder, encoder = msgspec.msgpack.Decoder(ReadJob), msgspec.msgpack.Encoder()
    while head := source.read(LENGTH_BYTES):
        frame = source.read(int.from_bytes(head, "big"))
        _allow_cpu(cpu_s)
        try:
            answer = read(decoder.decode(frame))
        except MemoryError:
            answer = ReadResult(outcome="memory", reason="reading it takes too much memory")
        except Exception as error:  # libraries raise anything on hostile input, and it is the document that failed
            answer = ReadResult(outcome="broken", reason=f"it cannot be read ({type(error).__name__})")
        packed = encoder.encode(answer)
        sink.write(len(packed).to_bytes(LENGTH_BYTES, "big") + packed)
        sink.flush()


def _main() -> None:
    # Libraries may print; the real stdout belongs to the frames.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit(int(sys.argv[1]))
    _serve(sys.stdin.buffer, sink, int(sys.argv[2]))


if __name__ == "__main__":
    _main()
