"""Compare, split and format text.

Scoring has its own, more precise matcher; the comparisons here are the ones used to create RGB's data.
"""

from __future__ import annotations

import os
import re
import shlex
import unicodedata
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import pairwise

from ragbed.schema import Answer, Lang

# A single set of three ranges would take forty times as long to compile.
_HAN = r"[\u3400-\u4dbf\u4e00-\u9fff]+|[\uf900-\ufaff]+"
_LATIN_WORD = r"[A-Za-z]+"
_CONTROL = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_SURROGATE = r"[\ud800-\udfff]"
_TERM = r"[a-z0-9]+(?:[.,'][a-z0-9]+)*|[\u3400-\u4dbf\u4e00-\u9fff]+"


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile a pattern on first use, because compiling all patterns takes 5% of the start-up time."""
    return re.compile(pattern)


def guess_lang(question: str) -> Lang:
    """Return the language of a question: Chinese if it has more Han characters than Latin words."""
    if question.isascii():
        return "en"
    han = sum(map(len, _compiled(_HAN).findall(question)))
    return "zh" if han > len(_compiled(_LATIN_WORD).findall(question)) else "en"


def plain(text: str) -> str:
    """Lowercase a text, as RGB's authors did before they classified documents as positive or negative."""
    return text.lower()


def spaceless(text: str) -> str:
    """Lowercase a text and remove ASCII spaces, as the original scorer does with Chinese responses."""
    return text.lower().replace(" ", "")


def squeezed(text: str) -> str:
    """Normalise a text to NFKC, case-fold it and remove white space, for the most tolerant comparison."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def holds_slot(folded_text: str, aliases: tuple[str, ...]) -> bool:
    """Return whether a folded text contains the lower-case form of one of the aliases."""
    return any(alias.lower() in folded_text for alias in aliases)


def bears_answer(text: str, answer: Answer, lang: Lang) -> bool:
    """Return whether a text contains an alias for every part of the answer, ignoring spaces in Chinese."""
    slots = _folded(answer, lang)
    return _holds_all(text, slots) or _holds_all((spaceless if lang == "zh" else plain)(text), slots)


def _holds_all(text: str, slots: Answer) -> bool:
    for aliases in slots:
        for alias in aliases:
            if alias in text:
                break
        else:
            return False
    return True


@lru_cache(maxsize=64)
def _folded(answer: Answer, lang: Lang) -> Answer:
    fold = spaceless if lang == "zh" else plain
    return tuple(tuple(map(fold, aliases)) for aliases in answer)


# Cached because the documents of a question are compared with the answers of many neighbouring questions.
_squeezed = lru_cache(maxsize=4_096)(squeezed)


def mentions_answer(text: str, answer: Answer) -> bool:
    """Return whether a text contains any alias under the most tolerant comparison; false positives are possible."""
    squeezed_text = _squeezed(text)
    return any(_squeezed(alias) in squeezed_text for aliases in answer for alias in aliases)


def to_terms(text: str) -> list[str]:
    """Return the search terms in a text: Latin words in lower case, and pairs of neighbouring Han characters."""
    terms: list[str] = []
    for run in _compiled(_TERM).findall(text.lower()):
        terms += [run[at : at + 2] for at in range(max(len(run) - 1, 1))] if run[0] > "\u3000" else [run]
    return terms


def storable(text: str) -> str:
    """Return a text as a plain string that can be stored: each lone surrogate is replaced with U+FFFD."""
    text = str.__str__(text)  # an instance of a subclass of `str` cannot be encoded
    return text if text.isascii() else _compiled(_SURROGATE).sub("\N{REPLACEMENT CHARACTER}", text)


def storable_name(name: str) -> str:
    r"""Return a file, run or model name as it is stored and displayed; files are opened under their actual names.

    Python decodes bytes of a name that are not UTF-8 as lone surrogates. They become escapes such as \udcd6.
    """
    return name.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """Escape control and text-direction characters, so that a text is safe to print on a terminal."""
    return text if text.isprintable() else _compiled(_CONTROL).sub(lambda match: f"\\u{ord(match[0]):04x}", text)


_CLOSING = r"[\"'”’」』）)\]】》]*"
_END = (
    rf"(?P<chinese>[。！？；…]+{_CLOSING})"
    rf"|(?P<latin>[.!?]+{_CLOSING})(?=\s)"
    r"|(?P<line>\n+)"
)
# Abbreviations after which a full stop does not necessarily end a sentence. Single capital letters are
# treated as initials, and sequences such as "U.S." as abbreviations.
_ABBREVIATION = (
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|Sen|Rep|Gov|Gen|Col|Lt|Sgt|Capt|Rev|Hon|St|Jr|Sr|Inc|Ltd|Co|Corp|No|Nos|Vol|Fig|vs|etc"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec|approx|dept|est|al|ca|cf|pp|p|e\.g|i\.e|a\.m|p\.m)|\b[A-Z](?:\.[A-Z])*)\.$"
)
_CONTINUES = r"\s*[a-z,;]"
# Words that are assumed to start a sentence after an abbreviation: "in the U.S. The …" is split, "U.S. Army" is not.
_STARTS = r"\s+(?:The|A|An|It|He|She|They|We|In|On|At|But|And|This|That)\b"
# Number of characters to check before a full stop, slightly more than the length of the longest abbreviation.
_BEFORE = 12


def split_sentences(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence; together, the sentences cover the whole text, including white space."""
    start = 0
    for found in _compiled(_END).finditer(text):
        end = found.end()
        if found["latin"] and not _is_end(text, found):
            continue
        while end < len(text) and text[end].isspace():
            end += 1
        if end > start:
            yield start, end
            start = end
    if start < len(text):
        yield start, len(text)


def _is_end(text: str, found: re.Match[str]) -> bool:
    if _compiled(_CONTINUES).match(text, found.end()):
        return False
    before = text[max(0, found.start() - _BEFORE) : found.start() + 1]
    return not _compiled(_ABBREVIATION).search(before) or _compiled(_STARTS).match(text, found.end()) is not None


_LATIN = "a-zß-öø-ÿ"


# Characters that Chinese texts use or omit within a term, e.g. in 骁龙 8 and 安·李.
_OPTIONAL_ZH = r"[\s·・•‧∙⋅]"


@lru_cache(maxsize=4_096)
def term_pattern(alias: str, lang: Lang) -> re.Pattern[str]:
    """Return a pattern that finds an alias as a whole term in a lower-case text: not inside a longer number or word.

    In Chinese, white space and middle dots between two characters do not matter, unless both characters are digits.
    """
    alias = alias.strip().lower()
    before = after = ""
    if alias[0].isdigit():
        before = r"(?<!\d)(?<!\d[.,])"
    elif re.match(f"[{_LATIN}]", alias):
        before = f"(?<![{_LATIN}])"
    if alias[-1].isdigit():
        after = r"(?![.,]?\d)"
    elif re.match(f"[{_LATIN}]", alias[-1]):
        after = f"(?![{_LATIN}])"
    body = re.escape(alias)
    if lang == "zh" and (bare := _compiled(_OPTIONAL_ZH).sub("", alias)):
        body = re.escape(bare[0]) + "".join(
            ("" if first.isdigit() and second.isdigit() else f"{_OPTIONAL_ZH}*") + re.escape(second)
            for first, second in pairwise(bare)
        )
    return re.compile(before + body + after)


def contains_slot(lowered_text: str, aliases: tuple[str, ...], lang: Lang) -> bool:
    """Return whether a lower-case text contains one of the aliases as a whole term."""
    return any(
        (lang == "zh" or alias.strip().lower() in lowered_text) and term_pattern(alias, lang).search(lowered_text)
        for alias in aliases
    )


_DIGITS = "零一二三四五六七八九"
_UNITS = ("", "十", "百", "千")
_ONES = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)  # fmt: skip
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_SCALES = ((10**12, "trillion"), (10**9, "billion"), (10**6, "million"), (10**3, "thousand"))


def _below_ten_thousand(number: int) -> str:
    words, gap = "", False
    for power in (3, 2, 1, 0):
        digit = number // 10**power % 10
        if digit:
            words += ("零" if gap and words else "") + _DIGITS[digit] + _UNITS[power]
        gap = not digit
    return words


def spoken(number: int) -> str:
    """Return an integer as it is spoken in Chinese: 两万 and 两千, but 二百 and 二十."""
    words = numeral(number)
    return "两" + words[1:] if words[0] == "二" and words[1:2] in ("千", "万", "亿") else words


def numeral(number: int) -> str:
    """Return an integer in Chinese numerals, e.g. 一万二千四百; 15 is 十五, not 一十五."""
    if number >= 10**8:
        rest = number % 10**8
        return numeral(number // 10**8) + "亿" + (("零" if rest < 10**7 else "") + numeral(rest) if rest else "")
    if number >= 10**4:
        rest = number % 10**4
        tail = ("零" if rest < 1000 else "") + _below_ten_thousand(rest) if rest else ""
        return numeral(number // 10**4) + "万" + tail
    words = _below_ten_thousand(number) or "零"
    return words[1:] if 10 <= number < 20 else words


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 case`, `1,500 cases`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def estimate_tokens(text: str) -> int:
    """Estimate the number of tokens in a text, erring on the high side, for models whose tokenizer is not available.

    The estimate is one token per 3 ASCII characters and 2.5 per non-ASCII character. English news has about 4
    characters per token, and a Chinese character has about 2 tokens in vocabularies that are mostly English.
    """
    other = len(text) - len(text.encode("ascii", "ignore"))
    return (2 * (len(text) - other) + 15 * other + 5) // 6


def in_words(number: int) -> str:
    """Return an integer in English words, e.g. forty-four billion, three hundred and five."""
    for size, name in _SCALES:
        if number >= size:
            rest = number % size
            joint = " and " if 0 < rest < 100 else " "
            return f"{in_words(number // size)} {name}" + (joint + in_words(rest) if rest else "")
    if number >= 100:
        rest = number % 100
        return f"{_ONES[number // 100]} hundred" + (f" and {in_words(rest)}" if rest else "")
    if number >= 20:
        return _TENS[number // 10 - 2] + (f"-{_ONES[number % 10]}" if number % 10 else "")
    return _ONES[number]


def quoted(*words: object) -> str:
    """Join the words of a command, quoting them as the user's shell requires."""
    texts = [str(word) for word in words]
    if os.name == "nt":
        from subprocess import list2cmdline  # noqa: PLC0415

        return list2cmdline(texts)
    return shlex.join(texts)
