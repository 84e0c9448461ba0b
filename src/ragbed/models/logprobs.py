"""Compute a response's confidence from the log-probabilities of its tokens.

The confidence is the geometric mean of the probabilities of the answer's tokens, so that answers of different lengths
are comparable.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

NO_LOGPROBS, OTHER_TOKENS, INVALID = "no-logprobs", "other-tokens", "invalid-logprobs"


def mean_probability(logprobs: Sequence[float]) -> float | str:
    """Return the geometric mean of token probabilities, or an error code if they are missing or invalid."""
    if not logprobs:
        return NO_LOGPROBS
    if not all(math.isfinite(value) and value <= 1e-6 for value in logprobs):
        return INVALID
    return min(1.0, math.exp(sum(logprobs) / len(logprobs)))


def read_confidence(logprobs: object, reply: str) -> float | str:
    """Return a response's confidence from OpenAI's `logprobs` field, or an error code if the field is unusable.

    Only the answer's tokens count, not those of the reasoning before it.

    Args:
        logprobs: The `logprobs` field of a chat completion or a text completion.
        reply: The answer.
    """
    tokens = list(_tokens(logprobs))
    if not tokens:
        return NO_LOGPROBS
    written, wanted = b"".join(text for text, _ in tokens), reply.encode("utf-8", "surrogatepass")
    start = written.rfind(wanted)
    if start < 0 or not wanted:
        return OTHER_TOKENS
    kept, at = [], 0
    for text, value in tokens:
        if at < start + len(wanted) and at + len(text) > start:
            kept.append(value)
        at += len(text)
    return mean_probability(kept)


def _tokens(logprobs: object) -> Iterator[tuple[bytes, float]]:
    """Yield the bytes and the log-probability of every token, or nothing if the field has an unknown format."""
    fields: dict[str, Any] = logprobs if isinstance(logprobs, dict) else {}
    content, tokens, values = (fields.get(name) for name in ("content", "tokens", "token_logprobs"))
    if isinstance(content, list):
        entries = [
            (one.get("bytes") or one.get("token"), one.get("logprob")) for one in content if isinstance(one, dict)
        ]
    elif isinstance(tokens, list) and isinstance(values, list):
        entries = list(zip(tokens, values, strict=False))
    else:
        entries = []
    for text, value in entries:
        number = float(value) if isinstance(value, int | float) and not isinstance(value, bool) else math.nan
        yield _to_bytes(text), number


def _to_bytes(text: object) -> bytes:
    """Return the bytes of a token, which may be a string or a list of byte values."""
    if isinstance(text, list) and all(isinstance(value, int) and 0 <= value < 256 for value in text):
        return bytes(text)
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else b""
