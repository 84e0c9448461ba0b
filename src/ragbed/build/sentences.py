"""Where sentences end, in English and in Chinese, by rules alone: the same text gives the same sentences anywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator

_CLOSING = r"[\"'”’」』）)\]】》]*"
_END = re.compile(
    rf"(?P<chinese>[。！？；…]+{_CLOSING})"
    rf"|(?P<latin>[.!?]+{_CLOSING})(?=\s)"
    r"|(?P<line>\n+)"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Col|Lt|Sgt|Capt|Rev|Hon|St|Jr|Sr|Inc|Ltd|Co|Corp|No|Nos|Vol|Fig|vs|etc"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec|approx|dept|est|al|ca|cf|pp|p|e\.g|i\.e|a\.m|p\.m)|\b[A-Z](?:\.[A-Z])*)\.$"
)
"""A full stop after one of these may not end a sentence; one letter is an initial, several are U.S. and the like."""
_GOES_ON = re.compile(r"\s*[a-z,;]")
_BEFORE = 12
"""Characters looked back at: as many as the longest abbreviation has, and a little."""


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence; together they cover the text, white space at the borders included."""
    start = 0
    for found in _END.finditer(text):
        end = found.end()
        if found["latin"] and not _is_end(text, found):
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        if end > start:
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def _is_end(text: str, found: re.Match[str]) -> bool:
    if _GOES_ON.match(text, found.end()):
        return False
    before = text[max(0, found.start() - _BEFORE) : found.start() + 1]
    if not _ABBREVIATION.search(before):
        return True
    # "in the U.S. The …" ends, "U.S. President" does not; short of grammar, what begins with an article decides.
    return (
        re.match(r"\s+(?:The|A|An|It|He|She|They|We|In|On|At|But|And|This|That)\b", text[found.end() :][:12])
        is not None
    )
