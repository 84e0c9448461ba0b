"""How long a text is, in tokens, by a measure of our own that needs no model and no download.

A Han, kana or Hangul character is one token, as in BERT's vocabularies; a word in letters is one for every five
letters begun; a digit is one; any other mark is one; white space is none. Tokenizers of language models mostly
give fewer (docs/build.md).
"""

from __future__ import annotations

import re

_ONE_EACH = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKEN = re.compile(rf"[{_ONE_EACH}]|[^\W\d_{_ONE_EACH}]{{1,5}}|\d|[^\s\w]|_")


def count_tokens(text: str) -> int:
    """How many tokens a text has."""
    return len(_TOKEN.findall(text))


def token_ends(text: str) -> list[int]:
    """Where each token ends, in characters."""
    return [token.end() for token in _TOKEN.finditer(text)]
