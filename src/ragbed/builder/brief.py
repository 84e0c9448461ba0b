"""Write a recipe from a one-sentence brief and a folder of documents, with default settings that users can edit."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from ragbed.builder.passages import MAX_TOKENS
from ragbed.builder.rules import GENERATOR
from ragbed.builder.survey import Survey, survey_folder
from ragbed.builder.web.content_types import SUFFIXES
from ragbed.errors import UsageError
from ragbed.schema import Lang
from ragbed.text import numeral, storable_name

_NUMERALS = {numeral(number): number for number in range(2, 1_000)} | {
    "两": 2
}  # 一 is omitted because 一个 usually means "a", not "one"
_NUMBER = r"(?P<number>\d+|[一二两三四五六七八九十百零]+)\s*"
_ABOUT = r"\b(?:about|on)\b|关于|有关"
# Before the topic, a count may appear anywhere; within the topic, only after a separator or a conjunction.
_LEAD = (
    rf"(?:(?P<before>^(?:(?!{_ABOUT}).)*?)"
    r"|[\s,;:，；：、(（]*(?:[,;:，；：、(（]|\b(?:and|plus|with|including)\b|和|以及|其中|包括)\s*)"
)
_TAIL = (
    r"(?:\s+(?:ones?|items?|questions?)\b|[类型性]?的?(?:题(?!材)目?|问题"
    rf"|(?=\s*(?:[,;:.，；：、。)）]|$|\b(?:and|plus)\b|和|以及|{_ABOUT}))))[)）]?"
)


def _counted(english: str, chinese: str) -> re.Pattern[str]:
    """Return a pattern that matches a question count such as "2 combined ones", but not "2 combined cycle plants"."""
    return re.compile(rf"{_LEAD}{_NUMBER}(?:(?:[a-z-]+\s+)?(?:{english})|[个道条]?(?:{chinese})){_TAIL}", re.IGNORECASE)


_KINDS = {
    "integration": _counted("integration|combined|combining", "(?:信息)?[整综]合"),
    "counterfactual": _counted("counterfactuals?", "反事实"),
}
_BASE = re.compile(rf"{_NUMBER}(?:(?:[a-z-]+\s+){{0,4}}(?:base\b|questions?\b|items?\b)|[个道条])", re.IGNORECASE)
_LANGS: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\benglish\b|英[文语]", re.IGNORECASE),
    "zh": re.compile(r"\bchinese\b|中[文国]|汉语", re.IGNORECASE),
}
# A number may precede its language (10 English, 10个英文, 10 in English) or follow it (English: 10, 英文10个).
_BY_LANG = (
    rf"{_NUMBER}(?:(?:questions?|items?|ones)\s+in\s+|in\s+|(?:(?!and\b)[a-z-]+\s+){{0,2}}"
    rf"|[个道条]?[^\W\d，、和与及]{{0,4}}?)LANG",
    rf"LANG的?\s*(?:questions?|items?|问题|题目?)?\s*[:：]?\s*{_NUMBER}",
)
_OTHERS = (
    "french|german|spanish|italian|portuguese|dutch|polish|russian|ukrainian|turkish|arabic|hebrew|persian|hindi|"
    "bengali|urdu|tamil|indonesian|malay|vietnamese|thai|japanese|korean|swedish|danish|norwegian|finnish|greek|czech"
)
# These words match only where they name the language of the questions, because "French wine" may be the topic.
_OTHER_LANGS = re.compile(
    rf"(?<!about )(?<!on )\b({_OTHERS})\s+(?:[a-z-]+\s+){{0,3}}(?:questions?|items?|base|integration|counterfactual)\b"
    rf"|\bin\s+({_OTHERS})\s*(?:[.,;]|$)"
    r"|((?:法|德|西班牙|意大利|葡萄牙|荷兰|俄|阿拉伯|印地|越南|泰|日|韩)[语文])\s*的?(?:问题|题|基准)",
    re.IGNORECASE,
)
_TOPIC = re.compile(r"\b(?:about|on)\s+(.+?)[.\s]*$|(?:关于|有关)(.+?)的|(?:关于|有关)(.+?)[。\s]*$", re.IGNORECASE)
_DEFAULT_ITEMS, _MAX_PROPOSED = 20, 50
# Number of items that the rules find per document of a few paragraphs, and the maximum number of items to propose.
_BY_RULES, _MAX_BY_RULES = 2.5, 300
_MIN_PASSAGE = 60  # lower limit for the maximum passage length, in tokens; about two sentences


def write_recipe(brief: str, documents: Path, generator: str, name: str = "", home: Path = Path()) -> str:
    """Return a recipe as TOML text.

    Args:
        brief: One sentence that describes the requested dataset.
        documents: A folder of documents, or a file that lists or contains them.
        generator: Model that writes the questions.
        name: Name of the build; defaults to the folder's name.
        home: The recipe's folder. Paths to documents in it are relative, so that both can be moved together.

    Raises:
        UsageError: The brief requests an unsupported language, or there are no readable documents.
    """
    if found := _OTHER_LANGS.search(brief):
        other = next(filter(None, found.groups()))
        raise UsageError(f"Questions in {other} are not supported. Use English or Chinese.")
    kind = _kind(documents)
    survey = survey_folder(documents) if kind == "folder" else None
    langs = [lang for lang, word in _LANGS.items() if word.search(brief)] or _langs_of(survey)
    counts, rest = _take_counts(brief)
    base = _count_by_lang(rest) or _count(_BASE, rest) or _propose(survey, langs, generator)
    lines = [
        f"name = {_quote(_slug(Path(name) if name else documents))}",
        f"generator = {_quote(generator)}  # model that writes the questions, or rules",
        f"langs = {json.dumps(langs)}",
        f"about = {_quote(_topic(rest))}  # topic of the questions; may be empty",
        "",
        "[wanted]  # items per language; for different numbers: { en = 10, zh = 5 }",
        f"base = {_write_count(base)}  # noise robustness and rejection",
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


def _place(documents: Path, home: Path) -> str:
    place = str(documents.relative_to(home) if documents.is_relative_to(home) else documents)
    if storable_name(place) != place:
        raise UsageError(
            f"The path {place} is not valid UTF-8, so it cannot be stored in a recipe; rename the file or folder."
        )
    return place


def _kind(documents: Path) -> str:
    if documents.is_dir():
        if not any(path.suffix.lower() in SUFFIXES for path in documents.rglob("*")):
            raise UsageError(
                f"{documents} contains no readable documents. Supported file types: {', '.join(SUFFIXES)}."
            )
        return "folder"
    if not documents.is_file():
        raise UsageError(f"{documents} does not exist; pass the folder or file with the documents.")
    kinds = {".jsonl": "jsonl", ".warc": "warc", ".gz": "warc", ".txt": "urls"}
    kind = kinds.get(documents.suffix.lower())
    if kind is None:
        raise UsageError(
            f"The file type of {documents} is not supported; pass a folder, or a file that ends in {', '.join(kinds)}."
        )
    return kind


def _count(pattern: re.Pattern[str], brief: str) -> int | None:
    numbers = (found["number"] for found in pattern.finditer(brief))
    return next((_NUMERALS.get(text) or int(text) for text in numbers if text.isdigit() or text in _NUMERALS), None)


def _count_by_lang(brief: str) -> dict[Lang, int] | None:
    """Return the number of questions in each language, or None if the brief does not state all of these numbers."""
    text = _TOPIC.sub("", brief)
    for order in _BY_LANG:
        found = {
            lang: _count(re.compile(order.replace("LANG", f"(?:{word.pattern})"), re.IGNORECASE), text)
            for lang, word in _LANGS.items()
        }
        counts = {lang: number for lang, number in found.items() if number is not None}
        if len(counts) == len(_LANGS):
            return counts
    return None


def _take_counts(brief: str) -> tuple[dict[str, int], str]:
    """Return the numbers of integration and counterfactual questions in a brief, and the brief without the numbers."""
    counts, rest = {}, " ".join(brief.split())
    for kind, pattern in _KINDS.items():
        counts[kind] = _count(pattern, rest) or 0
        rest = " ".join(pattern.sub(r"\g<before>", rest).split())
    return counts, rest


def _topic(brief: str) -> str:
    found = _TOPIC.search(brief)
    return next(filter(None, found.groups())) if found else ""


def _langs_of(survey: Survey | None) -> list[Lang]:
    """Return the languages of a folder's plain-text documents, or English and Chinese if none is detected."""
    found = survey.langs if survey else {}
    return [lang for lang in ("en", "zh") if lang in found] or ["en", "zh"]


def _propose(survey: Survey | None, langs: Sequence[Lang], generator: str) -> int | dict[Lang, int]:
    """Return the number of items to build: one per document, up to 50, or more if questions are generated by rules."""
    if survey is None or not survey.langs:
        return _DEFAULT_ITEMS
    each, most = (_BY_RULES, _MAX_BY_RULES) if generator == GENERATOR else (1, _MAX_PROPOSED)
    counts: dict[Lang, int] = {
        lang: max(1, min(most, round(survey.documents * survey.langs.get(lang, 0.0) * each))) for lang in langs
    }
    return counts if len(set(counts.values())) > 1 else counts[langs[0]]


def _tokens(survey: Survey | None) -> int:
    """Return the maximum passage length: for short documents, a third of the text, to leave some for distractors."""
    if survey is None or not survey.tokens:
        return MAX_TOKENS
    return max(_MIN_PASSAGE, min(MAX_TOKENS, survey.tokens // 3))


def _slug(documents: Path) -> str:
    return re.sub(r"[^\w.-]+", "-", documents.resolve().stem, flags=re.ASCII).strip("-.")[:60] or "benchmark"


def _write_count(count: int | dict[Lang, int]) -> str:
    if isinstance(count, int):
        return str(count)
    return f"{{ {', '.join(f'{lang} = {number}' for lang, number in count.items())} }}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # every JSON string is also a valid TOML string
