"""Score responses with ragbed's scorers inside another harness."""

from __future__ import annotations

import msgspec

from ragbed.schema import Case
from ragbed.scoring import score
from ragbed.scoring.value import Value

_DECODER = msgspec.json.Decoder(Case)
_ENCODER = msgspec.json.Encoder()


def pack(case: Case) -> str:
    """Encode a case without its prompt as JSON, to be stored in a harness's sample."""
    return _ENCODER.encode(msgspec.structs.replace(case, messages=())).decode()


def score_packed(record: str, reply: str) -> dict[str, Value]:
    """Return a response's scores on all tracks."""
    return score(_DECODER.decode(record), reply)


def numbers(values: dict[str, Value]) -> dict[str, float]:
    """Return only the boolean and numeric scores, as floats."""
    return {name: float(value) for name, value in values.items() if isinstance(value, bool | float)}
