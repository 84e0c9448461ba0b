"""A sentence and a folder → a recipe: what can be read off them, and the rest as comments for a person to change."""

from __future__ import annotations

import json
import re
from pathlib import Path

from ragbed.builder.web.charset import decode_page
from ragbed.builder.web.content_types import SUFFIXES
from ragbed.builder.web.language_detection import tell_language
from ragbed.errors import UsageError
from ragbed.io.locations import open_regular
from ragbed.schema import Lang
from ragbed.text import numeral, storable_name

_NUMERALS = {numeral(number): number for number in range(2, 1_000)} | {"两": 2}
"""Without 一, which in 一个 is an article."""
_NUMBER = r"(?P<number>\d+|[一二两三四五六七八九十百零]+)\s*"
_ABOUT = r"\b(?:about|on)\b|关于|有关"
_LEAD = (
    rf"(?:(?P<before>^(?:(?!{_ABOUT}).)*?)"
    r"|[\s,;:，；：、(（]*(?:[,;:，；：、(（]|\b(?:and|plus|with|including)\b|和|以及|其中|包括)\s*)"
)
"""Before the topic a count may stand anywhere; behind its beginning only where something new begins."""
_TAIL = (
    r"(?:\s+(?:ones?|items?|questions?)\b|[类型性]?的?(?:题(?!材)目?|问题"
    rf"|(?=\s*(?:[,;:.，；：、。)）]|$|\b(?:and|plus)\b|和|以及|{_ABOUT}))))[)）]?"
)


def _counted(english: str, chinese: str) -> re.Pattern[str]:
    """How many questions of a kind are wanted: 2 combined ones, but not 2 combined cycle plants."""
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
_BY_LANG = (
    rf"{_NUMBER}(?:(?:questions?|items?|ones)\s+in\s+|in\s+|(?:(?!and\b)[a-z-]+\s+){{0,2}}|[个道条]?[^\W\d，、和与及]{{0,4}}?)LANG",
    rf"LANG的?\s*(?:questions?|items?|问题|题目?)?\s*[:：]?\s*{_NUMBER}",
)
"""A number before its language (10 English, 10个英文, 10 in English), or behind it (English: 10, 英文10个)."""
_OTHERS = (
    "french|german|spanish|italian|portuguese|dutch|polish|russian|ukrainian|turkish|arabic|hebrew|persian|hindi|"
    "bengali|urdu|tamil|indonesian|malay|vietnamese|thai|japanese|korean|swedish|danish|norwegian|finnish|greek|czech"
)
_OTHER_LANGS = re.compile(
    rf"(?<!about )(?<!on )\b({_OTHERS})\s+(?:[a-z-]+\s+){{0,3}}(?:questions?|items?|base|integration|counterfactual)\b"
    rf"|\bin\s+({_OTHERS})\s*(?:[.,;]|$)"
    r"|((?:法|德|西班牙|意大利|葡萄牙|荷兰|俄|阿拉伯|印地|越南|泰|日|韩)[语文])\s*的?(?:问题|题|基准)",
    re.IGNORECASE,
)
"""As the language of questions; French wine may be asked about."""
_TOPIC = re.compile(r"\b(?:about|on)\s+(.+?)[.\s]*$|(?:关于|有关)(.+?)的|(?:关于|有关)(.+?)[。\s]*$", re.IGNORECASE)
_LOOKED_AT = 200
"""Documents that are looked at to tell the languages of a folder."""
_HEAD_BYTES = 20_000
_PLAIN = frozenset({".txt", ".md", ".html", ".htm"})


def write_recipe(brief: str, documents: Path, generator: str, name: str = "", home: Path = Path()) -> str:
    """A recipe as TOML text.

    Args:
        brief: What the user wants, in a sentence.
        documents: A folder of documents, or a file of them.
        generator: Model string.
        name: Of what is built; that of the folder if empty.
        home: Where the recipe will lie. Documents below it are named from there, so that all can be moved together.

    Raises:
        UsageError: It wants a language that no recipe can, or there are no such documents.
    """
    _check_langs(brief)
    kind = _kind(documents)
    langs = [lang for lang, word in _LANGS.items() if word.search(brief)] or _langs_of(documents)
    counts, rest = _take_counts(brief)
    lines = [
        f"name = {_quote(_slug(Path(name) if name else documents))}",
        f"generator = {_quote(generator)}  # any model string: who writes the questions",
        f"langs = {json.dumps(langs)}",
        f"about = {_quote(_topic(rest))}  # what the questions should be about; may be left empty",
        "",
        "[wanted]  # for each language; for different numbers: { en = 10, zh = 5 }",
        f"base = {_write_count(_count_by_lang(rest) or _count(_BASE, rest) or 20)}  # noise and rejection",
        f"integration = {counts['integration']}",
        f"counterfactual = {counts['counterfactual']}  # only questions that the generator knows by itself",
        "",
        "[[sources]]",
        f"kind = {_quote(kind)}",
        f"place = {_quote(_place(documents.resolve(), home.resolve()))}",
        "",
        "[pools]",
        "sources = 1  # one's own documents seldom say a thing twice; 2 asks for a second, independent one",
        "spread = 2",
        "distracts = 4",
    ]
    return "\n".join(lines) + "\n"


def _place(documents: Path, home: Path) -> str:
    place = str(documents.relative_to(home) if documents.is_relative_to(home) else documents)
    if storable_name(place) != place:
        raise UsageError(f"{place} is not valid UTF-8, so a recipe cannot name it; rename it.")
    return place


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


def _check_langs(brief: str) -> None:
    if found := _OTHER_LANGS.search(brief):
        named = next(filter(None, found.groups()))
        raise UsageError(f"questions in {named} cannot be built; ragbed builds questions in English and Chinese.")


def _count(pattern: re.Pattern[str], brief: str) -> int | None:
    for found in pattern.finditer(brief):
        told = found["number"]
        if told.isdigit() or told in _NUMERALS:
            return _NUMERALS.get(told) or int(told)
    return None


def _count_by_lang(brief: str) -> dict[Lang, int] | None:
    """How many questions are wanted in each language, where the brief says so for all of them."""
    text = _TOPIC.sub("", brief)
    for order in _BY_LANG:
        counts: dict[Lang, int] = {}
        for lang, word in _LANGS.items():
            number = _count(re.compile(order.replace("LANG", f"(?:{word.pattern})"), re.IGNORECASE), text)
            if number is not None:
                counts[lang] = number
        if len(counts) == len(_LANGS):
            return counts
    return None


def _take_counts(brief: str) -> tuple[dict[str, int], str]:
    """How many of the kinds beside the base are wanted, and the brief without that."""
    counts, rest = {}, " ".join(brief.split())
    for kind, pattern in _KINDS.items():
        counts[kind] = _count(pattern, rest) or 0
        rest = " ".join(pattern.sub(r"\g<before>", rest).split())
    return counts, rest


def _topic(brief: str) -> str:
    found = _TOPIC.search(brief)
    return next(filter(None, found.groups())) if found else ""


def _langs_of(documents: Path) -> list[Lang]:
    """The languages of a folder's plain documents; both where that cannot be told."""
    files = [path for path in documents.rglob("*") if path.suffix.lower() in _PLAIN] if documents.is_dir() else []
    found = set()
    for path in sorted(files)[:_LOOKED_AT]:
        with open_regular(path, follow_links=True) as source:
            head = source.read(_HEAD_BYTES)
        found.add(tell_language(re.sub(r"<[^>]*>", " ", decode_page(head, SUFFIXES[path.suffix.lower()]).text)))
    return [lang for lang in ("en", "zh") if lang in found] or ["en", "zh"]


def _slug(documents: Path) -> str:
    return re.sub(r"[^\w.-]+", "-", documents.resolve().stem, flags=re.ASCII).strip("-.")[:60] or "benchmark"


def _write_count(count: int | dict[Lang, int]) -> str:
    """A count as TOML."""
    if isinstance(count, int):
        return str(count)
    return f"{{ {', '.join(f'{lang} = {number}' for lang, number in count.items())} }}"


def _quote(text: str) -> str:
    """A basic string of TOML, which JSON's is."""
    return json.dumps(text, ensure_ascii=False)
