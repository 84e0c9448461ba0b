"""`cassette/<file>`: replay the responses of a recorded run, without an API key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import structs

from ragbed.errors import MALFORMED_JSON, DataError, UsageError
from ragbed.io.cassette import CassetteResult, FilePart, RunPart, cassette_hash, decode_head, read_cassette
from ragbed.models.base import StatelessModel, canonical
from ragbed.schema import Case, Completion, Message, Step
from ragbed.testbeds.prompts import prompt_hash
from ragbed.testbeds.search.episode import ENDINGS, prompt_of
from ragbed.text import storable_name

UNKNOWN = "not-in-cassette"  # the error kind for a request that was not recorded


class _Prompt(msgspec.Struct):
    messages: tuple[Message, ...]


class Recording:
    """The responses in a cassette, by prompt and repeat, encoded as bytes to save memory.

    If two cases have the same prompt, both get the first response. To keep them separate, import the cassette instead.

    Args:
        path: A cassette with the responses of one model.

    Raises:
        UsageError: The cassette has responses from several models, which cannot be distinguished by prompt.
        DataError: The file is not a cassette, or has been modified.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decoder = msgspec.json.Decoder(Completion)
        self._responses: dict[tuple[str, int], bytes] = {}
        self.has_tools = False  # whether the recorded model called tools through its API
        try:
            for key, response in self._read(read_cassette(path)):
                self._responses.setdefault(key, response)
        except (*MALFORMED_JSON, IndexError, StopIteration) as error:
            raise DataError(
                path, f"is not a valid run cassette ({error}); create one with `ragbed export RUN --to cassette`"
            ) from error

    def _read(self, lines: Iterator[bytes]) -> Iterator[tuple[tuple[str, int], bytes]]:
        decode_head(self.path, next(lines, b""))
        run = msgspec.json.decode(next(lines, b""), type=RunPart)
        if len(run.models) != 1:
            names = ", ".join(name for name, _ in run.models)
            raise UsageError(
                f"{self.path} contains responses from several models: {names}. Export the responses of one model: "
                "ragbed export RUN --to cassette --model MODEL."
            )
        decoder, encoder = msgspec.json.Decoder(_Prompt), msgspec.json.Encoder()
        prompts = [prompt_hash(decoder.decode(next(lines, b"")).messages) for _ in range(run.cases)]
        results = msgspec.json.Decoder(CassetteResult | RunPart | FilePart)
        record: object = None
        for line in lines:  # reading to the end verifies the checksum
            if not isinstance(record, RunPart | FilePart):
                record = results.decode(line)
                if isinstance(record, CassetteResult):
                    steps = record.completion.steps
                    self.has_tools = self.has_tools or any(step.protocol == "tools" for step in steps)
                    for prompt, response in _responses(record.completion, prompts[record.case]):
                        yield (prompt, record.repeat), encoder.encode(response)

    def find(self, messages: Sequence[Message], repeat: int = 0) -> Completion:
        """Return the recorded response to exactly these messages, or an error outcome if no response was recorded."""
        found = self._responses.get((prompt_hash(messages), repeat))
        if found is not None:
            return self._decoder.decode(found)
        return Completion(outcome="error", error=f"{UNKNOWN}: {self.path.name} contains no response to this prompt")


def _responses(completion: Completion, prompt: str) -> Iterator[tuple[str, Completion]]:
    """Yield each prompt with its response; a prompting strategy may send several prompts for one case."""
    if not completion.steps:
        yield prompt, completion
        return
    if completion.steps[0].protocol is not None:
        yield from _turns(completion)
        return
    *earlier, last = completion.steps
    for step in earlier:
        yield prompt_hash(step.messages), _response(step)
    # The outcome of a case is that of its last call, because no further call is made after a failed one.
    changes = {"reply": last.reply, "usage": last.usage, "latency_s": last.latency_s, "attempts": 1, "steps": ()}
    yield prompt_hash(last.messages), structs.replace(completion, **changes)


def _turns(completion: Completion) -> Iterator[tuple[str, Completion]]:
    """Yield the prompt and the response for each turn in an episode."""
    *_, last = completion.steps
    is_failed = completion.outcome != "ok" and completion.finish not in ENDINGS
    for number, step in enumerate(completion.steps, 1):
        response = _response(step)
        if is_failed and step is last:
            response = structs.replace(response, outcome=completion.outcome, error=completion.error)
        yield prompt_hash(prompt_of(completion.steps[:number])), response


def _response(step: Step) -> Completion:
    return Completion(outcome="ok", reply=step.reply, usage=step.usage, latency_s=step.latency_s, calls=step.calls)


class CassetteModel(StatelessModel):
    """A model that replays a recording."""

    advice = "A cassette contains only the responses of its run; use the same data and the same case options."

    def __init__(self, path: Path) -> None:
        self.name, self._recording = storable_name(f"cassette/{path}"), Recording(path)

    @property
    def calls_tools(self) -> bool:
        """Whether the recorded model called tools; see `ToolCalling`."""
        return self._recording.has_tools

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Return the recorded response to the case's messages."""
        return self._recording.find(case.messages, repeat)

    def request(self, case: Case) -> bytes:
        """Return the messages as canonical JSON."""
        return canonical(case.messages)

    async def identity(self) -> str:
        """Return the hash of the cassette file."""
        return cassette_hash(self._recording.path)
