"""Separate the reasoning of a model from its answer."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str | None, str]:
    """Return the reasoning and the answer of a response that starts with `<think>`.

    Some chat templates put the opening tag into the prompt, so that a response may have only the closing tag.
    Reasoning without a closing tag was truncated; the answer is then empty.
    """
    start = text.lstrip()
    if not start.startswith(_OPEN) and (_OPEN in text or _CLOSE not in text):
        return None, text
    thought, _, answer = start.removeprefix(_OPEN).partition(_CLOSE)
    return thought.strip() or None, answer.lstrip()
