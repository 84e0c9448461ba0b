"""Score responses with ragbed's scorers inside another harness."""

from __future__ import annotations

import msgspec

from ragbed.models.base import completed
from ragbed.schema import Case
from ragbed.scoring import score, score_outcome
from ragbed.scoring.value import Value

_DECODER = msgspec.json.Decoder(Case)
_ENCODER = msgspec.json.Encoder()


def pack(case: Case) -> str:
    """Encode a case without its prompt as JSON, to be stored in a harness's sample."""
    return _ENCODER.encode(msgspec.structs.replace(case, messages=())).decode()


def score_packed(record: str, reply: str, finish: str | None = None) -> dict[str, Value]:
    """Return a response's scores of all scorers, as in a run.

    Reasoning is not scored, a truncated response gets no credit from the robust scorer, and a filtered response gets no
    credit from any scorer.

    Args:
        record: The packed case.
        reply: The response, which may contain reasoning.
        finish: The finish reason; `length` if the response reached the token limit, `content_filter` if it was
            filtered, None if it is unknown.
    """
    case = _DECODER.decode(record)
    if finish == "content_filter":
        return score(case, "") | {"verdict": "filtered"}
    return score_outcome(case, completed(reply, finish, None)) or {}


def numbers(values: dict[str, Value]) -> dict[str, float]:
    """Return only the boolean and numeric scores, as floats."""
    return {name: float(value) for name, value in values.items() if isinstance(value, bool | float)}
