"""Keep API keys out of reprs, logs, error messages and files."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from yarl import URL

# Minimum length of an API key fragment to hide. Shorter keys are placeholders such as "EMPTY" or "none"; hiding
# them would garble server messages.
_MIN_PIECE = 8
# Numbers and dates such as `api-version=2024-10-21` are not secrets, and answers may contain them.
_NUMBER = re.compile(r"[\d./:-]{,15}")
_TO_URL_SAFE = str.maketrans("+/", "-_")
_HIDDEN = "[key]"
_COVERED = re.compile(rb"\x01+")
_HIDDEN_VALUE = "***"
_MAX_MESSAGE = 4096


class ApiKey:
    """A secret that is not shown in its repr.

    Attributes:
        in_messages_only: Whether to hide it only in error messages, because an answer may contain it by chance.
    """

    def __init__(self, value: str, *, in_messages_only: bool = False) -> None:
        self._value, self.in_messages_only = value, in_messages_only

    def reveal(self) -> str:
        """Return the secret, for use in a request header."""
        return self._value


class Scrubber:
    """Removes API keys from text sent by a server, including encoded keys and fragments of keys."""

    def __init__(self, keys: Iterable[ApiKey]) -> None:
        self._forms: dict[str, int] = {}
        for key in keys:
            self._forms |= _forms(key.reveal())
        self.has_keys = bool(self._forms)
        self._pieces: dict[int, set[str]] = {}  # key fragments by length
        for form, size in self._forms.items():
            pieces = (form[start : start + size] for start in range(len(form) - size + 1))
            self._pieces.setdefault(size, set()).update(pieces)

    def clean(self, message: str) -> str:
        """Return an error message as one line of printable characters, without fragments of keys."""
        printable = "".join(mark if mark.isprintable() else " " for mark in message[:_MAX_MESSAGE])
        return " ".join(self.hide(printable).split())

    def hide(self, text: str) -> str:
        """Replace all fragments of keys in a text with a placeholder."""
        covered = bytearray(len(text))
        for size, pieces in self._pieces.items():
            for start in range(len(text) - size + 1):
                if text[start : start + size] in pieces:
                    covered[start : start + size] = b"\1" * size
        parts, end = [], 0
        for found in _COVERED.finditer(covered):
            parts += [text[end : found.start()], _HIDDEN]
            end = found.end()
        return "".join([*parts, text[end:]])

    def contains_key(self, text: str) -> bool:
        """Return whether a response contains an API key, possibly encoded; an answer may contain a part by chance."""
        return any(form in text for form in self._forms)


def _forms(value: str) -> dict[str, int]:
    """Return the encoded forms of a key, each with the minimum length of a fragment to hide."""
    if len(value) < _MIN_PIECE or _NUMBER.fullmatch(value):
        return {}
    forms = dict.fromkeys((value, quote(value, safe="")), _MIN_PIECE)
    raw = value.encode()
    forms |= dict.fromkeys((raw.hex(), raw.hex().upper()), 2 * _MIN_PIECE)
    for before in range(3):  # a prefix such as "Bearer " or "user:" shifts the key's base64 encoding
        packed = base64.b64encode(bytes(before) + raw).decode()
        inner = packed[before and before + 1 : (before + len(raw)) // 3 * 4]
        forms |= dict.fromkeys((inner, inner.translate(_TO_URL_SAFE)), _MIN_PIECE * 3 // 2)
    return {form: min(shortest, len(form)) for form, shortest in forms.items()}


def secrets_in(url: URL) -> list[ApiKey]:
    """Return the secrets in a URL: the password, the encoded user information and the query values."""
    # If a URL contains a user name but no password, the user name is treated as an access token.
    user_info = (url.password or url.user, encode_user_info(url).rstrip("="))
    return [ApiKey(value) for value in (*user_info, *url.query.values()) if value]


def encode_user_info(url: URL) -> str:
    """Encode a URL's user name and password for Basic authentication, or return an empty string if there is neither."""
    user_info = f"{url.user or ''}:{url.password or ''}"
    return base64.b64encode(user_info.encode()).decode() if user_info != ":" else ""


def without_secrets(url: URL) -> str:
    """Return a URL without its user information, query and fragment."""
    return str(url.with_user(None).with_query(None).with_fragment(None))


_USER_INFO = re.compile(r"^(http/(?:\w+://)?|https?://)[^/?#]*@")
_QUERY_VALUE = re.compile(r"(?<=[?&])([^=&]*=)?[^&]*")


def without_credentials(spec: str) -> str:
    """Return a model string with the user information, query values and fragment removed from its URL.

    It is not known which query values are secret, so none are shown or stored.
    """
    if not spec.startswith(("http/", "http:", "https:")):
        return spec
    location, _, _ = _USER_INFO.sub(r"\1", spec).partition("#")
    path, mark, query = location.partition("?")
    return path + _QUERY_VALUE.sub(rf"\g<1>{_HIDDEN_VALUE}", mark + query)
