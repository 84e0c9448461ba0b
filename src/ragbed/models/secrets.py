"""Keys that no repr, log, error text or file shows."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from yarl import URL

_SHORTEST = 8
"""A piece of a key of so many characters is hidden wherever it turns up. Shorter keys are no secrets but
placeholders ("EMPTY", "none"), and hiding those would only garble what servers say."""
_NUMBER = re.compile(r"[\d./:-]{,15}")
"""A number or a date, as `api-version=2024-10-21`: not a secret, and answers may contain it."""
_TELLING = 6
"""Letters and digits that a piece needs before it gives a key away."""
_LONG = re.compile(r"[!-~]{8,}")
"""A word that is long enough to contain a piece of a key."""
_ODD = re.compile(r"\d|[a-z][A-Z]|[A-Z]{2}[a-z]")
"""What random characters have and most words have not."""
_TO_URL_SAFE = str.maketrans("+/", "-_")
_HIDDEN = "[key]"
_COVERED = re.compile(rb"\x01+")
_VALUE = "***"
"""Shown in place of a query's value."""


class ApiKey:
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

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        forms: dict[str, int] = {}
        for key in keys:
            forms |= _forms(key.reveal())
        self._forms = dict(sorted(forms.items(), key=lambda form: len(form[0]), reverse=True))
        self._hidden: dict[int, set[str]] = {}
        """Pieces of all forms, by their length."""
        for form, shortest in forms.items():
            pieces = {form[start : start + shortest] for start in range(len(form) - shortest + 1)}
            self._hidden.setdefault(shortest, set()).update(pieces)
        telling = {form: _telling_pieces(form, shortest) for form, shortest in self._forms.items()}
        self._pieces = {piece for pieces in telling.values() for piece in pieces.values()}
        self._samples = {sample for form, pieces in telling.items() for sample in _samples(form, pieces)}
        self._others = [form for form, pieces in telling.items() if not pieces or not _LONG.fullmatch(form)]

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
        covered = bytearray(len(text))
        # One look at each position is quicker than a search for each of about a thousand pieces.
        for size, pieces in self._hidden.items():
            for start in range(len(text) - size + 1):
                if text[start : start + size] in pieces:
                    covered[start : start + size] = b"\1" * size
        parts, end = [], 0
        for found in _COVERED.finditer(covered):
            parts += [text[end : found.start()], _HIDDEN]
            end = found.end()
        return "".join([*parts, text[end:]])

    def holds(self, text: str) -> bool:
        """Whether a key or a piece of it occurs in a response; quick, since every response is searched.

        A piece that reads as a word or a number does not count: an answer may well contain that.
        """
        if any(form in text for form in self._others):
            return True
        words = " ".join(_LONG.findall(text))
        # Most responses end here: their long words have neither digits nor capitals inside.
        if not _ODD.search(words) or not any(sample in words for sample in self._samples):
            return False
        return any(piece in words for piece in self._pieces)


def _forms(value: str) -> dict[str, int]:
    """Return the forms that a key may be quoted in, each with the shortest piece of it that is hidden."""
    if len(value) < _SHORTEST or _NUMBER.fullmatch(value):
        return {}
    forms = dict.fromkeys((value, quote(value, safe="")), _SHORTEST)
    told = value.encode()
    forms |= dict.fromkeys((told.hex(), told.hex().upper()), 2 * _SHORTEST)
    for before in range(3):  # what stands before the key ("Bearer ", "user:") shifts its base64
        packed = base64.b64encode(bytes(before) + told).decode()
        inner = packed[before and before + 1 : (before + len(told)) // 3 * 4]
        forms |= dict.fromkeys((inner, inner.translate(_TO_URL_SAFE)), _SHORTEST * 3 // 2)
    return {form: min(shortest, len(form)) for form, shortest in forms.items()}


def _telling_pieces(form: str, size: int) -> dict[int, str]:
    """Return the pieces of a form that do not read as a word or a number, by where they begin."""
    pieces = {start: form[start : start + size] for start in range(len(form) - size + 1)}
    return {start: piece for start, piece in pieces.items() if _is_telling(piece)}


def _is_telling(piece: str) -> bool:
    core = "".join(mark for mark in piece if mark.isalnum())
    return len(core) >= _TELLING and not core.isdigit() and _ODD.search(piece) is not None


def _samples(form: str, pieces: Mapping[int, str]) -> set[str]:
    """Return short parts of a form, of which every telling piece contains one: far fewer than there are pieces."""
    samples = set()
    for start, piece in pieces.items():
        size = len(piece) // 2
        first = -(-start // (len(piece) - size + 1)) * (len(piece) - size + 1)
        samples.add(form[first : first + size])
    return samples


def secrets_in(url: URL) -> list[ApiKey]:
    """What of an address is not for everybody: who asks, as headers say it, and what follows the question mark."""
    # A name that stands without a password is one itself.
    who = (url.password or url.user, pack_user(url).rstrip("="))
    return [ApiKey(value) for value in (*who, *url.query.values()) if value]


def pack_user(url: URL) -> str:
    """Name and password of an address as a header says them; empty where it has none."""
    told = f"{url.user or ''}:{url.password or ''}"
    return base64.b64encode(told.encode()).decode() if told != ":" else ""


def shown(url: URL) -> str:
    """An address for everybody."""
    return str(url.with_user(None).with_query(None).with_fragment(None))


_USER_INFO = re.compile(r"^(http/(?:\w+://)?|https?://)[^/?#]*@")
_QUERY_VALUE = re.compile(r"(?<=[?&])([^=&]*=)?[^&]*")


def without_credentials(spec: str) -> str:
    """Return a model string without the user, the query values and the fragment of a system's URL.

    Which values of a query are secret cannot be known, so none is shown or stored.
    """
    if not spec.startswith(("http/", "http:", "https:")):
        return spec
    place, _, _ = _USER_INFO.sub(r"\1", spec).partition("#")
    path, mark, query = place.partition("?")
    return path + _QUERY_VALUE.sub(rf"\g<1>{_VALUE}", mark + query)
