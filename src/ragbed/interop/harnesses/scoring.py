"""A reply scored as a run of ragbed scores it, by the same code."""

from __future__ import annotations

import msgspec

from ragbed.schema import Case
from ragbed.scoring import score
from ragbed.scoring.value import Value

_DECODER = msgspec.json.Decoder(Case)
_ENCODER = msgspec.json.Encoder()


def pack(case: Case) -> str:
    """A case as the text that a harness carries along with its sample, whose prompt it has already."""
    return _ENCODER.encode(msgspec.structs.replace(case, messages=())).decode()


def score_packed(record: str, reply: str) -> dict[str, Value]:
    """All values of all tracks."""
    return score(_DECODER.decode(record), reply)


def numbers(values: dict[str, Value]) -> dict[str, float]:
    """Those that are numbers, True as 1; what the case's own answer does not allow to be scored is not among them."""
    return {name: float(value) for name, value in values.items() if isinstance(value, bool | float)}
