"""Keys that no repr, log, error text or file shows."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from yarl import URL

_SHORTEST = 8
"""A piece of a key of so many characters is hidden wherever it turns up. Shorter keys are no secrets but
placeholders ("EMPTY", "none"), and hiding those would only garble what servers say."""
_HIDDEN = "[key]"


class Key:
    """A secret."""

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for the header that needs it."""
        return self._value

    def __repr__(self) -> str:
        return "Key(…)"


class Scrubber:
    """Takes keys out of texts that come from elsewhere: a server may quote the key it was sent, whole or in part."""

    def __init__(self, keys: Iterable[Key]) -> None:
        self._forms = sorted({form for key in keys for form in _forms(key.reveal())}, key=len, reverse=True)

    def __repr__(self) -> str:
        return "Scrubber(…)"

    @property
    def has_keys(self) -> bool:
        """Whether there is anything to hide."""
        return bool(self._forms)

    def clean(self, text: str) -> str:
        """The text without any piece of a key, and on one line of printable characters."""
        text = "".join(mark if mark.isprintable() else " " for mark in text)
        return " ".join(self.hide(text).split())

    def hide(self, text: str) -> str:
        """The text without any piece of a key."""
        for form in self._forms:
            text = _hide(text, form)
        return text

    def holds(self, text: str) -> bool:
        """Whether a whole key stands in a text; quick, for every reply."""
        return any(form in text for form in self._forms)


def _forms(value: str) -> set[str]:
    if len(value) < _SHORTEST:
        return set()
    packed = base64.b64encode(value.encode()).decode().rstrip("=")
    return {value, quote(value, safe=""), packed, base64.b64encode(f"Bearer {value}".encode()).decode().rstrip("=")}


def _hide(text: str, form: str) -> str:
    pieces = [form[start : start + _SHORTEST] for start in range(len(form) - _SHORTEST + 1)]
    covered = bytearray(len(text))
    for piece in pieces:
        found = text.find(piece)
        while found >= 0:
            covered[found : found + _SHORTEST] = b"\1" * _SHORTEST
            found = text.find(piece, found + 1)
    if not any(covered):
        return text
    kept: list[str] = []
    for mark, hidden in zip(text, covered, strict=True):
        if not hidden:
            kept.append(mark)
        elif not kept or kept[-1] != _HIDDEN:
            kept.append(_HIDDEN)
    return "".join(kept)


def secrets_in(url: URL) -> list[Key]:
    """What of an address is not for everybody: who asks, as headers say it, and what follows the question mark."""
    # A name that stands without a password is one itself.
    who = (url.password or url.user, pack_user(url).rstrip("="))
    return [Key(value) for value in (*who, *url.query.values()) if value]


def pack_user(url: URL) -> str:
    """Name and password of an address as a header says them; empty where it has none."""
    told = f"{url.user or ''}:{url.password or ''}"
    return base64.b64encode(told.encode()).decode() if told != ":" else ""


def shown(url: URL) -> str:
    """An address for everybody."""
    return str(url.with_user(None).with_query(None).with_fragment(None))
