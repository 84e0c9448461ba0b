"""Survey a folder before a build: find its documents, and estimate the number of items and the cost."""

from __future__ import annotations

import re
from collections import Counter
from math import ceil
from pathlib import Path
from statistics import median

from msgspec import Struct

from ragbed.builder.passages import count_tokens
from ragbed.builder.recipe import Recipe, models_of, wanted_of
from ragbed.builder.rules import GENERATOR
from ragbed.builder.sources.files import find_files
from ragbed.builder.web.charset import decode_page
from ragbed.builder.web.content_types import SUFFIXES
from ragbed.builder.web.language_detection import detect_language
from ragbed.builder.web.limits import MAX_PAGE_BYTES
from ragbed.errors import UsageError
from ragbed.io.locations import open_regular
from ragbed.runs.prices import find_price
from ragbed.schema import Lang

_MAX_SAMPLED = 200  # maximum number of documents to read when detecting a folder's languages
_HEAD_BYTES = 20_000
_PLAIN = frozenset({".txt", ".md", ".markdown", ".html", ".htm", ".xhtml"})
_UNKNOWN_TOKENS = 1_000  # assumed number of tokens in a document that is not plain text
_PROMPT, _REPLY, _SHORT = 500, 250, 60  # tokens in a prompt (without the document), in two drafts, and in an answer
_MAX_TEXT = 3_000  # maximum number of tokens per document in a prompt
_CALL_S, _AT_ONCE = 2.0, 16  # typical duration of a call in seconds, and number of concurrent calls
# Seconds needed to read and index a document, and to rank and check a draft, excluding model calls.
_PAGE_S, _DRAFT_S = 0.1, 0.3


class Survey(Struct, frozen=True, kw_only=True):
    """The documents in a folder.

    Attributes:
        documents: Documents that a build reads.
        skipped: Number of other files, by the reason for not reading them.
        langs: Share of each language in a sample of the documents.
        tokens: Median length of a document in the sample; 0 if none is plain text.
    """

    documents: int
    skipped: dict[str, int]
    langs: dict[Lang, float]
    tokens: int


class Forecast(Struct, frozen=True, kw_only=True):
    """The estimated resources that a build needs.

    Attributes:
        calls: Number of model calls.
        tokens_in, tokens_out: Number of tokens in all calls.
        dollars: Cost; None if a price is unknown.
        minutes: Duration.
    """

    calls: int
    tokens_in: int
    tokens_out: int
    dollars: float | None
    minutes: float


def survey_folder(folder: Path) -> Survey:
    """Survey the documents in a folder, based on all file names and the beginnings of some files."""
    problems = {path: _problem(path) for path in find_files(folder)}
    found = sorted(path for path, problem in problems.items() if not problem)
    skipped = Counter(filter(None, problems.values()))
    plain = [path for path in found if path.suffix.lower() in _PLAIN]
    sample = plain[:: max(1, len(plain) // _MAX_SAMPLED)][:_MAX_SAMPLED]
    heads = {path: _read_head(path) for path in sample}
    texts = {path: text for path, text in heads.items() if text is not None}
    if unreadable := len(heads) - len(texts):
        skipped["unreadable"] += unreadable
    langs = Counter(filter(None, map(detect_language, texts.values())))
    sizes = [count_tokens(text) * max(1.0, path.stat().st_size / _HEAD_BYTES) for path, text in texts.items()]
    shares: dict[Lang, float] = {lang: langs[lang] / langs.total() for lang in ("en", "zh") if langs[lang]}
    return Survey(
        documents=len(found) - unreadable,
        skipped=dict(skipped),
        langs=shares,
        tokens=round(median(sizes)) if sizes else 0,
    )


def forecast_build(recipe: Recipe, survey: Survey) -> Forecast:
    """Estimate the calls, cost and time for a build."""
    wanted = sum(wanted_of(recipe, "base", lang) for lang in recipe.langs)
    drafts = ceil(wanted * recipe.questions.surplus)
    articles = min(survey.documents, ceil(drafts / recipe.questions.per_article))
    text = min(survey.tokens or _UNKNOWN_TOKENS, _MAX_TEXT)
    processing_s = survey.documents * _PAGE_S + drafts * _DRAFT_S
    models = models_of(recipe)
    if not models:
        return Forecast(calls=0, tokens_in=0, tokens_out=0, dollars=0.0, minutes=processing_s / 60)
    passages = 5 * min(recipe.ranking.tokens, text)
    generator = 0 if recipe.generator == GENERATOR else articles
    # Each draft needs a probe, one answer with passages, one without, and two answers to rephrased questions.
    short = drafts * (1 + 4)
    calls = generator + drafts + short
    tokens_in = generator * (_PROMPT + text) + drafts * _PROMPT + short * (_PROMPT // 2 + passages)
    tokens_out = generator * _REPLY + (drafts + short) * _SHORT
    prices = [find_price(model) for model in models]
    usage = {"in": tokens_in // calls, "out": tokens_out // calls}  # average number of tokens per call
    amounts = [calls * float(price(usage)) for price in prices if price]
    dollars = max(amounts) if len(amounts) == len(models) else None
    minutes = (calls * _CALL_S / _AT_ONCE + processing_s) / 60
    return Forecast(calls=calls, tokens_in=tokens_in, tokens_out=tokens_out, dollars=dollars, minutes=minutes)


def _problem(path: Path) -> str:
    """Return the reason why a build does not read a file, or an empty string if it does."""
    if path.is_dir():
        return "link to a folder"
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        return f"{suffix or 'no suffix'}"
    try:
        size = path.stat().st_size
    except OSError:
        return "unreadable"
    return "empty" if not size else "too large" if size > MAX_PAGE_BYTES else ""


def _read_head(path: Path) -> str | None:
    """Return the beginning of a document, or None if the file cannot be read."""
    try:
        with open_regular(path, follow_links=True) as source:
            head = source.read(_HEAD_BYTES)
    except (OSError, UsageError):
        return None
    return re.sub(r"<[^>]*>", " ", decode_page(head, SUFFIXES[path.suffix.lower()]).text)
