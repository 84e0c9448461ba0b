"""Write a recipe from a one-sentence brief and a folder of documents, with default settings that users can edit."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ragbed.builder.passages import MAX_TOKENS
from ragbed.builder.survey import Survey
from ragbed.builder.web.content_types import SUFFIXES
from ragbed.errors import UsageError
from ragbed.schema import Lang
from ragbed.text import storable_name

_NUMBER = r"(\d{1,6})\s*[个道条]?\s*(?:[a-z-]+\s+){0,3}?(?:英文|中文)?"
_KINDS = {
    "integration": re.compile(rf"{_NUMBER}(?:integration|combined|(?:信息)?整合)", re.IGNORECASE),
    "counterfactual": re.compile(rf"{_NUMBER}(?:counterfactual|反事实)", re.IGNORECASE),
}
_BASE = re.compile(rf"{_NUMBER}(?:questions?|items?|题|问题)", re.IGNORECASE)
_LANGS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\benglish\b|英[文语]", re.IGNORECASE),
    "zh": re.compile(r"\bchinese\b|中[文国]|汉语", re.IGNORECASE),
}
_TOPIC = re.compile(r"\b(?:about|on)\s+(.+?)[.\s]*$|(?:关于|有关)(.+?)(?:的|[。\s]*$)", re.IGNORECASE)
_DEFAULT_ITEMS = 20
_MIN_PASSAGE = 60  # lower limit for the maximum passage length, in tokens; about two sentences
_KINDS_OF_FILE = {".jsonl": "jsonl", ".warc": "warc", ".gz": "warc", ".txt": "urls"}


def write_recipe(
    brief: str, documents: Path, generator: str, *, survey: Survey | None, name: str = "", home: Path = Path()
) -> str:
    """Return a recipe as TOML text.

    Args:
        brief: One sentence with the number, language, kinds and topic of the questions; all are optional.
        documents: A folder of documents, or a file that lists or contains them.
        generator: Model that writes the questions.
        survey: Summary of the documents, if they are in a folder.
        name: Name of the build; defaults to the folder's name.
        home: The recipe's folder. Paths to documents in it are relative, so that both can be moved together.
    """
    kind = kind_of(documents)
    langs = [lang for lang, word in _LANGS.items() if word.search(brief)] or _langs_of(survey)
    counts, rest = {}, brief
    for item_kind, pattern in _KINDS.items():
        found = pattern.search(rest)
        counts[item_kind] = int(found[1]) if found else 0
        rest = pattern.sub(" ", rest)
    base = _BASE.search(rest)
    topic = _TOPIC.search(rest)
    about = next(filter(None, topic.groups()), "") if topic else ""
    lines = [
        f"name = {_quote(_slug(Path(name) if name else documents))}",
        f"generator = {_quote(generator)}  # model that writes the questions",
        f"langs = {json.dumps(langs)}",
        f"about = {_quote(about.strip())}  # topic of the questions; may be empty",
        "",
        "[wanted]  # items per language; for different numbers: { en = 10, zh = 5 }",
        f"base = {base[1] if base else _DEFAULT_ITEMS}  # noise robustness and rejection",
        f"integration = {counts['integration']}",
        f"counterfactual = {counts['counterfactual']}  # only questions that the generator can answer alone",
        "",
        "[[sources]]",
        f"kind = {_quote(kind)}",
        f"place = {_quote(_place(documents.resolve(), home.resolve()))}",
        "",
        "[pools]",
        "sources = 1  # your own documents rarely repeat a fact; 2 requires a second, independent source",
        "spread = 2",
        "distracts = 4",
        "",
        "[ranking]",
        f"tokens = {_tokens(survey)}  # maximum length of a passage",
    ]
    return "\n".join(lines) + "\n"


def asks_for_number(brief: str) -> bool:
    """Check whether a brief says how many questions to write."""
    return _BASE.search(brief) is not None


def kind_of(documents: Path) -> str:
    """Return the kind of source that documents are, or raise an error if they cannot be read."""
    if documents.is_dir():
        if not any(path.suffix.lower() in SUFFIXES for path in documents.rglob("*")):
            raise UsageError(
                f"{documents} contains no readable documents. Supported file types: {', '.join(SUFFIXES)}."
            )
        return "folder"
    if not documents.is_file():
        raise UsageError(f"{documents} does not exist; pass the folder or file with the documents.")
    kind = _KINDS_OF_FILE.get(documents.suffix.lower())
    if kind is None:
        known = ", ".join(_KINDS_OF_FILE)
        raise UsageError(
            f"The file type of {documents} is not supported; pass a folder, or a file that ends in {known}."
        )
    return kind


def _place(documents: Path, home: Path) -> str:
    place = str(documents.relative_to(home) if documents.is_relative_to(home) else documents)
    if storable_name(place) != place:
        raise UsageError(
            f"The path {place} is not valid UTF-8, so it cannot be stored in a recipe; rename the file or folder."
        )
    return place


def _langs_of(survey: Survey | None) -> list[Lang]:
    """Return the languages of a folder's plain-text documents, or English and Chinese if none is detected."""
    found = survey.langs if survey else {}
    return [lang for lang in ("en", "zh") if lang in found] or ["en", "zh"]


def _tokens(survey: Survey | None) -> int:
    """Return the maximum passage length: for short documents, a third of the text, to leave some for distractors."""
    if survey is None or not survey.tokens:
        return MAX_TOKENS
    return max(_MIN_PASSAGE, min(MAX_TOKENS, survey.tokens // 3))


def _slug(documents: Path) -> str:
    return re.sub(r"[^\w.-]+", "-", documents.resolve().stem, flags=re.ASCII).strip("-.")[:60] or "benchmark"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # every JSON string is also a valid TOML string
