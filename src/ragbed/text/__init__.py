"""How texts are compared, in the few ways that reading, linting and laying out cases need.

Scoring has its own, finer matcher; these are the plain definitions that RGB's data was made with.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from ragbed.schema import Answer, Lang

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_LATIN_WORD = re.compile(r"[A-Za-z]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_SURROGATE = re.compile(r"[\ud800-\udfff]")
_TERM = re.compile(r"[a-z0-9]+(?:[.,'][a-z0-9]+)*|[\u3400-\u4dbf\u4e00-\u9fff]+")


def guess_lang(question: str) -> Lang:
    """The language of a question by its script: Chinese if it has more Han characters than Latin words."""
    return "zh" if len(_HAN.findall(question)) > len(_LATIN_WORD.findall(question)) else "en"


def plain(text: str) -> str:
    """Lower-cased and nothing else: how RGB's documents were split into positive and negative."""
    return text.lower()


def spaceless(text: str) -> str:
    """Lower-cased, ASCII spaces removed: how the original scorer reads a Chinese reply."""
    return text.lower().replace(" ", "")


def squeezed(text: str) -> str:
    """Compatibility forms unified, case folded, all white space removed: the widest of the three."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def holds_slot(folded_text: str, aliases: tuple[str, ...]) -> bool:
    """Whether a folded text contains one of the aliases, which are lower-cased only."""
    return any(alias.lower() in folded_text for alias in aliases)


def holds_answer(folded_text: str, answer: Answer) -> bool:
    """Whether a folded text contains an alias of every slot."""
    return all(holds_slot(folded_text, aliases) for aliases in answer)


def bears_answer(text: str, answer: Answer, lang: Lang) -> bool:
    """Whether a text holds an alias of every slot, spaces ignored on both sides in Chinese."""
    folded = (spaceless if lang == "zh" else plain)(text)
    return all(any(alias in folded for alias in aliases) for aliases in _folded(answer, lang))


@lru_cache(maxsize=64)
def _folded(answer: Answer, lang: Lang) -> Answer:
    """An answer as it is compared; all passages of an item are held against the same."""
    fold = spaceless if lang == "zh" else plain
    return tuple(tuple(map(fold, aliases)) for aliases in answer)


def mentions_answer(text: str, answer: Answer) -> bool:
    """Whether any alias of any slot occurs, both sides squeezed: errs on the side of yes."""
    squeezed_text = squeezed(text)
    return any(squeezed(alias) in squeezed_text for aliases in answer for alias in aliases)


def to_terms(text: str) -> list[str]:
    """What a text can be searched by: lower-cased words in Latin script, pairs of neighbouring Han characters."""
    terms: list[str] = []
    for run in _TERM.findall(text.lower()):
        is_han = run[0] > "\u3000"
        terms += [run[at : at + 2] for at in range(max(len(run) - 1, 1))] if is_han else [run]
    return terms


def storable(text: str) -> str:
    """Return a text that a file can hold: each half of a surrogate pair becomes U+FFFD."""
    return _SURROGATE.sub("\N{REPLACEMENT CHARACTER}", text)


def storable_name(name: str) -> str:
    r"""Return the name of a file, run or model as it is stored and shown; files are still opened by their real name.

    Python reads bytes of a name that are not UTF-8 as lone surrogates. They become escapes such as \udcd6, which is
    also how messages show them.
    """
    return name.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """Text from data made safe for a terminal: control and direction characters become visible escapes."""
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
