"""Build the requests for the paper's judged metrics Rej* and ED*, and parse the judge's responses.

The instruction, demonstrations, inputs and parsing rule follow the original code, but the wording is ours. For Rej*,
the judge gets the question and the response. For ED*, it gets only the response, under a different label than in the
demonstrations. A phrase anywhere in the judgement decides. Both metrics are kept for comparison, including their
faults; `ragbed judge` has better criteria.
"""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

_PLACEHOLDER = re.compile(r"\{(QUERY|REPLY)\}")


def rej_star_request(question: str, reply: str) -> str:
    """Return the prompt for Rej*, which asks whether the documents can answer the question."""
    return _fill("rej_star.md", {"QUERY": question, "REPLY": reply})


def ed_star_request(reply: str) -> str:
    """Return the prompt for ED*, which asks whether the response mentions errors in the documents."""
    return _fill("ed_star.md", {"REPLY": reply})


def read_rej_star(judgement: str) -> bool:
    """Return whether a judgement counts as a rejection."""
    return "not addressed" in judgement


def read_ed_star(judgement: str) -> bool:
    """Return whether a judgement counts as error detection."""
    return "has identified" in judgement or "Yes" in judgement


def prompt_hash(name: str) -> str:
    """Return a short hash of a prompt file, to be stored with the judgements."""
    return hashlib.sha256(_text(name).encode()).hexdigest()[:8]


def _fill(name: str, values: dict[str, str]) -> str:
    return _PLACEHOLDER.sub(lambda match: values[match[1]], _text(name))


@cache
def _text(name: str) -> str:
    return (files("ragbed.testbeds.prompts") / "starred" / name).read_bytes().decode().removesuffix("\n")
