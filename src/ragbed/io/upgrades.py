"""Upgrade stored records from earlier versions."""

from __future__ import annotations

from typing import Any

_TRUNCATED = (b'"finish":"length"', b'"finish":"max_tokens"')


def upgrade_completion(encoded: Any) -> Any:  # noqa: ANN401 - bytes, but a damaged file may contain any type
    """Convert the outcome of an encoded completion from schema 1 to schema 2.

    `refused` is now `filtered`, and a response that ended at the token limit is `truncated`. The text of a
    response cannot contain these byte sequences, because JSON escapes quotes in text.
    """
    if not isinstance(encoded, bytes):
        return encoded
    if is_truncated(encoded):
        encoded = encoded.replace(b'"outcome":"ok"', b'"outcome":"truncated"', 1)
    return encoded.replace(b'"outcome":"refused"', b'"outcome":"filtered"', 1)


def is_truncated(encoded: object) -> bool:
    """Return whether an encoded schema 1 completion ended at the token limit."""
    return isinstance(encoded, bytes) and any(finish in encoded for finish in _TRUNCATED)
