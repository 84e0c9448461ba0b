"""The child process that reads documents: `python -m ragbed.builder.web.reader_process MEMORY_BYTES CPU_S`.

Jobs and results are MessagePack frames, each preceded by its length in four bytes. The process limits its memory and
the CPU time of each document, except on Windows, which has no such limits. The parent limits the wall-clock time and
treats the exit of the process as a result.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any, BinaryIO

import msgspec

from ragbed.builder.web.documents import READERS, ReadJob, ReadResult, Unreadable
from ragbed.builder.web.language_detection import detect_language
from ragbed.builder.web.links import read_links

LENGTH_BYTES = 4
# Control characters and unpaired surrogates; UTF-8 cannot encode the latter.
_INVALID = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def read(job: ReadJob) -> ReadResult:
    """Read a document, and return its text and metadata, or the reason why it cannot be read."""
    if job.wants_links:
        try:
            return ReadResult(outcome="ok", links=tuple(read_links(job.body, job.content_type, job.url)))
        except ValueError as error:
            return ReadResult(outcome="broken", reason=str(error))
    reader = READERS.get(job.kind)
    if reader is None:
        return ReadResult(outcome="type", reason=f"documents of type {job.kind[:60]!r} are not supported")
    try:
        found = reader(job)
    except Unreadable as unreadable:
        outcome, reason = unreadable.args
        return ReadResult(outcome=outcome, reason=reason)
    text, title = _INVALID.sub("", found.text).strip(), " ".join(found.title.split())
    if not text:
        return ReadResult(outcome="empty", reason="the document has no text")
    return msgspec.structs.replace(found, text=text, title=title, lang=detect_language(text))


def _allow_cpu(resource: Any, seconds: int) -> None:  # noqa: ANN401 - a module that Windows does not have
    """Make the system kill the process after another `seconds` seconds of CPU time."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
    resource.setrlimit(resource.RLIMIT_CPU, (int(used.ru_utime + used.ru_stime) + seconds, hard))


def _serve(source: BinaryIO, sink: BinaryIO, allow_time: Callable[[], None]) -> None:
    decoder, encoder = msgspec.msgpack.Decoder(ReadJob), msgspec.msgpack.Encoder()
    while head := source.read(LENGTH_BYTES):
        frame = source.read(int.from_bytes(head, "big"))
        allow_time()
        try:
            answer = read(decoder.decode(frame))
        except MemoryError:
            answer = ReadResult(outcome="memory", reason="reading the document requires too much memory")
        except Exception as error:  # libraries may raise any exception for hostile input
            answer = ReadResult(outcome="broken", reason=f"the document cannot be read ({type(error).__name__})")
        packed = encoder.encode(answer)
        sink.write(len(packed).to_bytes(LENGTH_BYTES, "big") + packed)
        sink.flush()


def _main() -> None:
    # Libraries may print to stdout, which is reserved for frames.
    sink = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    memory_bytes, cpu_s = map(int, sys.argv[1:])
    try:
        resource = importlib.import_module("resource")
    except ModuleNotFoundError:  # the `resource` module does not exist on Windows
        _serve(sys.stdin.buffer, sink, lambda: None)
        return
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _serve(sys.stdin.buffer, sink, partial(_allow_cpu, resource, cpu_s))


if __name__ == "__main__":
    _main()
