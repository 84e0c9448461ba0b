"""Extract the content words and years from a question."""

from __future__ import annotations

import re
from functools import lru_cache

from ragbed.schema import Lang
from ragbed.scoring.robust.normalise import fold

_LATIN = re.compile(r"[a-z]+(?:'[a-z]+)?|[0-9]+(?:[.,][0-9]+)*")
_RUN = re.compile(r"[a-z]+|[0-9]+(?:\.[0-9]+)?|[\u4e00-\u9fff]+")
# Matches years up to 2049; later ones occur in titles such as Cyberpunk 2077.
_YEAR = re.compile(r"(?<![0-9.,])(?:19[0-9]|20[0-4])[0-9](?![0-9])(?![.,][0-9])")
_ENDINGS = re.compile(r"(?:'s|ies|ing|ers?|ed|es|s|e|y)$")
# Question words, function words, and general nouns that passages rarely repeat.
_STOP_EN = re.compile(
    r"\b(?:an?|and|any|are|as|at|be|been|by|did|do|does|for|from|had|has|have|how|in|into|is|its?|many|much|named|of|on"
    r"|or|so|that|the|their|there|they|this|to|was|were|what|when|where|which|who|whom|whose|why|will|with|would|after"
    r"|before|during|than|then|through|about|according|between|date|time|year|month|day|place|name|number)\b"
)
_STOP_ZH = re.compile(
    "多少|什么|哪[些里位个国年天家]?|何时|何地|几[个名位次月号日]?|谁|是否|分别|怎[么样]|如何|为何|[的了是在和与及或于有被将会为从到由对中内后前其这那吗呢啊把让给当都也]"
    "|时间|日期|地点|名称|内容|人数|数量|情况|结果"
)


@lru_cache(maxsize=4096)
def find_anchors(question: str, lang: Lang) -> frozenset[str]:
    """Return the word stems (English) or character bigrams (Chinese) of a question, without stop words and years."""
    folded = _YEAR.sub(" ", fold(question, lang))
    if lang == "en":
        return frozenset(_stem(word) for word in _LATIN.findall(_STOP_EN.sub(" ", folded)))
    runs = [run for part in _STOP_ZH.split(folded) for run in _RUN.findall(part)]
    return frozenset(term for run in runs for term in _bigrams(run))


def find_years(text: str) -> frozenset[str]:
    """Return the years in a normalised text."""
    return frozenset(_YEAR.findall(text))


def share_of(anchors: frozenset[str], text: str, lang: Lang) -> float:
    """Return the share of a question's terms that occur in a normalised text, or 1 if the question has no terms."""
    if not anchors:
        return 1.0
    if lang == "en":
        return len(anchors & {_stem(word) for word in _LATIN.findall(text)}) / len(anchors)
    return sum(anchor in text for anchor in anchors) / len(anchors)


def _bigrams(run: str) -> list[str]:
    return [run] if run.isascii() or len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def _stem(word: str) -> str:
    return _ENDINGS.sub("", word) if len(word) > 4 else word.removesuffix("'s")
