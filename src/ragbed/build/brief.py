"""A sentence and a folder → a recipe: what can be read off them, and the rest as comments for a person to change."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ragbed.errors import UsageError
from ragbed.schema import Lang
from ragbed.web.charset import decode_page
from ragbed.web.kinds import SUFFIXES
from ragbed.web.language import tell_language

_COUNTS = {
    "integration": re.compile(r"(\d+)\s*(?:[a-z-]+\s+)?integration|(\d+)\s*[个道条]?(?:信息)?整合", re.IGNORECASE),
    "counterfactual": re.compile(r"(\d+)\s*(?:[a-z-]+\s+)?counterfactual|(\d+)\s*[个道条]?反事实", re.IGNORECASE),
    "base": re.compile(r"(\d+)\s*(?:[a-z-]+\s+){0,4}(?:base\b|questions?\b|items?\b)|(\d+)\s*[个道条]", re.IGNORECASE),
}
_LANGS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\benglish\b|英[文语]", re.IGNORECASE),
    "zh": re.compile(r"\bchinese\b|中[文国]|汉语", re.IGNORECASE),
}
_TOPIC = re.compile(r"\b(?:about|on)\s+(.+?)[.\s]*$|(?:关于|有关)(.+?)的|(?:关于|有关)(.+?)[。\s]*$", re.IGNORECASE)
_LOOKED_AT = 200
"""Documents that are looked at to tell the languages of a folder."""
_HEAD_BYTES = 20_000
_PLAIN = frozenset({".txt", ".md", ".html", ".htm"})


def write_recipe(brief: str, documents: Path, generator: str, name: str = "") -> str:
    """A recipe as TOML text.

    Args:
        brief: What the user wants, in a sentence.
        documents: A folder of documents, or a file of them.
        generator: Model string.
        name: Of what is built; that of the folder if empty.
    """
    kind = _kind(documents)
    langs = [lang for lang, word in _LANGS.items() if word.search(brief)] or _langs_of(documents)
    counts = {name: _count(pattern, brief) for name, pattern in _COUNTS.items()}
    base = counts["base"] or 20
    lines = [
        f"name = {_quote(_slug(Path(name) if name else documents))}",
        f"generator = {_quote(generator)}  # any model string: who writes the questions",
        f"langs = {json.dumps(langs)}",
        f"about = {_quote(_topic(brief))}  # what the questions should be about; may be left empty",
        "",
        "[wanted]  # for each language",
        f"base = {base}  # noise and rejection",
        f"integration = {counts['integration'] or 0}",
        f"counterfactual = {counts['counterfactual'] or 0}  # only questions that the generator knows by itself",
        "",
        "[[sources]]",
        f"kind = {_quote(kind)}",
        f"place = {_quote(str(documents.resolve()))}",
        "",
        "[pools]",
        "sources = 1  # one's own documents seldom say a thing twice; 2 asks for a second, independent one",
        "spread = 2",
        "distracts = 4",
    ]
    return "\n".join(lines) + "\n"


def _kind(documents: Path) -> str:
    if documents.is_dir():
        if not any(path.suffix.lower() in SUFFIXES for path in documents.rglob("*")):
            raise UsageError(f"{documents} holds no document that can be read; {', '.join(SUFFIXES)} can.")
        return "folder"
    if not documents.is_file():
        raise UsageError(f"{documents}: no such folder or file; name the one that the documents are in.")
    kinds = {".jsonl": "jsonl", ".warc": "warc", ".gz": "warc", ".txt": "urls"}
    kind = kinds.get(documents.suffix.lower())
    if kind is None:
        raise UsageError(f"{documents}: name a folder, or a file {', '.join(kinds)}.")
    return kind


def _count(pattern: re.Pattern[str], brief: str) -> int | None:
    found = pattern.search(brief)
    return int(next(filter(None, found.groups()))) if found else None


def _topic(brief: str) -> str:
    found = _TOPIC.search(" ".join(brief.split()))
    return next(filter(None, found.groups())) if found else ""


def _langs_of(documents: Path) -> list[Lang]:
    """The languages of a folder's plain documents; both where that cannot be told."""
    files = [path for path in documents.rglob("*") if path.suffix.lower() in _PLAIN] if documents.is_dir() else []
    found = set()
    for path in sorted(files)[:_LOOKED_AT]:
        with open(path, "rb") as source:
            head = source.read(_HEAD_BYTES)
        found.add(tell_language(re.sub(r"<[^>]*>", " ", decode_page(head, SUFFIXES[path.suffix.lower()]).text)))
    return [lang for lang in ("en", "zh") if lang in found] or ["en", "zh"]


def _slug(documents: Path) -> str:
    return re.sub(r"[^\w.-]+", "-", documents.resolve().stem, flags=re.ASCII).strip("-.")[:60] or "benchmark"


def _quote(text: str) -> str:
    """A basic string of TOML, which JSON's is."""
    return json.dumps(text, ensure_ascii=False)
