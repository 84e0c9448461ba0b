"""`cassette/<file>`: a recorded run that answers again, without a key; what was not asked then is an error now."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.cassette import CassetteResult, FilePart, RunPart, decode_head, read_tape, tape_seal
from ragbed.models.base import canonical
from ragbed.schema import Case, Completion, Message
from ragbed.testbeds.prompts import prompt_hash
from ragbed.text import storable_name

UNKNOWN = "not-in-cassette"
"""The kind of error of a request that was not recorded."""


class _Asked(msgspec.Struct):
    """What we read of a case."""

    messages: tuple[Message, ...]


class Recording:
    """The replies of a cassette, by prompt and repeat; held as bytes, since there may be a hundred thousand.

    Where two cases had one prompt, the first reply is given to both; importing the cassette tells them apart.

    Args:
        path: The file, of a run of one model.

    Raises:
        UsageError: It holds the replies of several models, which prompts alone cannot tell apart.
        DataError: It is no cassette, or was changed.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decoder = msgspec.json.Decoder(Completion)
        try:
            self._replies: dict[tuple[str, int], bytes] = {}
            for key, reply in self._read(read_tape(path)):
                self._replies.setdefault(key, reply)
        except (*MALFORMED_JSON, IndexError, StopIteration) as error:
            raise DataError(path, f"is no cassette of a run: {error}") from error

    def _read(self, tape: Iterator[bytes]) -> Iterator[tuple[tuple[str, int], bytes]]:
        decode_head(self.path, next(tape, b""))
        run = msgspec.json.decode(next(tape, b""), type=RunPart)
        if len(run.models) != 1:
            told = ", ".join(name for name, _ in run.models)
            raise UsageError(
                f"{self.path} holds the replies of {told}; record one: ragbed export RUN --to cassette --model MODEL."
            )
        decoder, encoder = msgspec.json.Decoder(_Asked), msgspec.json.Encoder()
        prompts = [prompt_hash(decoder.decode(next(tape, b"")).messages) for _ in range(run.cases)]
        results = msgspec.json.Decoder(CassetteResult | RunPart | FilePart)
        record: object = None
        for line in tape:  # to the end, where the seal is checked
            if not isinstance(record, RunPart | FilePart):
                record = results.decode(line)
                if isinstance(record, CassetteResult):
                    for prompt, reply in _replies(record.completion, prompts[record.case]):
                        yield (prompt, record.repeat), encoder.encode(reply)

    def find(self, messages: Sequence[Message], repeat: int = 0) -> Completion:
        """The reply to these very messages, or the error that they were not asked."""
        found = self._replies.get((prompt_hash(messages), repeat))
        if found is not None:
            return self._decoder.decode(found)
        return Completion(outcome="error", error=f"{UNKNOWN}: {self.path.name} has no reply to this prompt")


def _replies(completion: Completion, prompt: str) -> Iterator[tuple[str, Completion]]:
    """Each prompt that was sent, with what came back: a remedy sends others than the one its case was laid out with."""
    if not completion.steps:
        yield prompt, completion
        return
    *earlier, last = completion.steps
    for step in earlier:
        said = Completion(outcome="ok", reply=step.reply, usage=step.usage, latency_s=step.latency_s)
        yield prompt_hash(step.messages), said
    # How the case ended is how its last call did: one that failed is followed by none.
    changes = {"reply": last.reply, "usage": last.usage, "latency_s": last.latency_s, "attempts": 1, "steps": ()}
    yield prompt_hash(last.messages), structs.replace(completion, **changes)


class CassetteModel:
    """A recording as a model."""

    concurrency = 64
    advice = "It answers only what was asked when it was recorded: the same data and layout options."

    def __init__(self, path: Path) -> None:
        self.name, self._recording = storable_name(f"cassette/{path}"), Recording(path)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Looks the reply up."""
        return self._recording.find(case.messages, repeat)

    def request(self, case: Case) -> bytes:
        """What a reply is looked up by."""
        return canonical(case.messages)

    async def identity(self) -> str:
        """The seal of the file."""
        return tape_seal(self._recording.path)

    async def close(self) -> None:
        """Holds nothing open."""
