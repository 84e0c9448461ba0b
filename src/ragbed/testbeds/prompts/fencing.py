"""Insert untrusted texts between fences in an instruction, so that no text is read as a template or a command."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping

_PLACEHOLDER = re.compile(r"\{([A-Z]+)\}")


def fence_in(template: str, fence: str, texts: Mapping[str, str]) -> str:
    """Replace `{NAME}` with the fenced text of that name, and `{FENCE}` with a notice about the fences.

    A fence is a pair of lines with a nonce, so no text can contain the end of its own fence. Placeholders in the texts
    are not replaced.
    """
    nonce = _nonce("\0".join((template, *texts.values())))
    values = {name: f"{nonce} begin\n{text}\n{nonce} end" for name, text in texts.items()}
    values["FENCE"] = fence.replace("{NONCE}", nonce)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _nonce(texts: str) -> str:
    """Return a hash that is derived from the texts but does not occur in them.

    The hash depends only on the content, so identical requests have identical prompts. A text's author cannot predict
    it.
    """
    nonce = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return nonce if nonce not in texts else _nonce(f"{texts}\0{nonce}")
