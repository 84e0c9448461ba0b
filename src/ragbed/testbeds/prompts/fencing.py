"""Texts from outside put into an instruction: fenced, so that what they say is neither a template nor an order."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Z]+)\}")


def fence_in(template: str, fence: str, texts: Mapping[str, str]) -> str:
    """Fills `{NAME}` with the text of that name between two lines with a nonce, and `{FENCE}` with the notice of it.

    A single pass: what a text says is not filled in again, and it cannot hold the end of its fence.
    """
    nonce = _nonce("\0".join((template, *texts.values())))
    values = {name: f"{nonce} begin\n{text}\n{nonce} end" for name, text in texts.items()}
    values["FENCE"] = fence.replace("{NONCE}", nonce)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _nonce(texts: str) -> str:
    """A word that the texts cannot hold: it is the hash of themselves.

    It follows from the content, so that equal requests stay equal, and who writes a text cannot know it before
    the text is written.
    """
    nonce = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return nonce if nonce not in texts else _nonce(f"{texts}\0{nonce}")
