"""What a reasoning model thinks before it answers, taken apart from the answer."""

from __future__ import annotations

_OPEN, _CLOSE = "<think>", "</think>"


def split_thinking(text: str) -> tuple[str | None, str]:
    """Thought and answer of a reply that begins with `<think>`.

    Some chat templates put the opening tag into the prompt, so a reply may have the closing one only. A thought
    that never ends was cut short: then there is no answer.
    """
    start = text.lstrip()
    if not start.startswith(_OPEN):
        if _OPEN in text or _CLOSE not in text:
            return None, text
        thought, _, answer = text.partition(_CLOSE)
        return thought.strip() or None, answer.lstrip()
    thought, _, answer = start.removeprefix(_OPEN).partition(_CLOSE)
    return thought.strip() or None, answer.lstrip()
