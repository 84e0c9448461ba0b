"""Parse the confidence that a response states on its last line, e.g. `Confidence: 85%`.

The parser is strict: any other form is reported as a named problem, and the confidence is never guessed.
"""

from __future__ import annotations

import re
import unicodedata

_LINE = r"(?i)(?:^|\n)[ \t*_#>-]*(?:confidence|置信度|信心)[ \t*_]*[:：][ \t*_]*(?P<value>[^\n]*?)[ \t*_.。]*\Z"
_PERCENT = r"(?a)(?P<sign>[-+−]?)(?P<number>\d{1,9}(?:\.\d{1,9})?)[ \t]*%"


def strip_confidence(reply: str) -> str:
    """Return a response without the line that states its confidence."""
    return re.sub(_LINE, "", reply.rstrip()).rstrip()


def parse_confidence(reply: str) -> float | str:
    """Return the stated confidence as a number from 0 to 1, or a code for the problem.

    The problems are `missing` (no such line), `not-a-percentage` (e.g. "very sure") and `out-of-range` (e.g. 110%).
    """
    line = re.search(_LINE, reply.rstrip())
    if line is None:
        return "missing"
    stated = re.fullmatch(_PERCENT, unicodedata.normalize("NFKC", line["value"]).strip())
    if stated is None:
        return "not-a-percentage"
    percent = float(stated["number"])
    return percent / 100 if stated["sign"] in ("", "+") and percent <= 100 else "out-of-range"
