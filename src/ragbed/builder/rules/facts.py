"""The data type for facts found by the rules, and functions that prepare texts for the rules."""

from __future__ import annotations

import re
from typing import NamedTuple

from ragbed.schema import Lang

# Minimum number of characters in a line of a wrapped paragraph; shorter lines without a full stop are headings.
_WRAPPED: dict[Lang, int] = {"en": 45, "zh": 25}


BLANK = "____"  # marks the missing value

_SOURCED = re.compile(
    f"from “[^”]+”: “[^”]*{BLANK}[^”]*”|《[^》]+》一文有这样一句：“[^”]*{BLANK}[^”]*”"
    "|^According to “[^”]+”,|^根据《[^》]+》，"
)


def name_source(question: str, quoting: str, lang: Lang) -> str:
    """Prefix a question with the title in `quoting`, or return the question unchanged if there is no title."""
    if lang == "zh":
        title = re.match("《[^》]+》(?=一文)", quoting)
        return f"根据{title[0]}，{question}" if title else question
    title = re.search("(?<=from )“[^”]+”(?=: “)", quoting)
    return f"According to {title[0]}, {question[0].lower()}{question[1:]}" if title else question


def leave_out_quotation(question: str) -> str:
    """Return a question without the title of its text and without the sentence that it quotes.

    Words such as "last year" are clear in a quotation with a title, but not in the rest of a question.
    """
    return _SOURCED.sub("", question)


# Headings, table rows, and markers at the start of a line: bullets, quote markers and list numbers.
_NO_TEXT = re.compile(r"[ \t]*(?:#|\||[-*_=]{3,}[ \t]*$)")
_MARKS = re.compile(
    r"^[\s\u3000]*(?:[-*+>•▪▸►·◦■□◆●○◎※–—][\s\u3000]+|[•▪▸►◦■□◆●○◎※]|\(?\d{1,2}[.)](?:\s+(?=\D)|(?=[\u4e00-\u9fff]))|[（(]?[一二三四五六七八九十\d]{1,3}[）)]"
    r"|[一二三四五六七八九十]{1,3}、|[①-⑩])+"
)
_LABEL = re.compile(r"(?P<mark>\*\*|__)(?P<label>[^*_：:。？！.?!]{1,12})(?P=mark)[\s\u3000]*(?=[\u4e00-\u9fff\d《“])")
_EMPHASIS = re.compile(r"\*{1,3}|(?<![\w])_{1,2}(?=\w)|(?<=\w)_{1,2}(?!\w)|`")


# Half-width punctuation marks in Chinese text, except those in numbers, times, URLs and Markdown links.
_HALF_WIDTH = re.compile(
    r"(?P<kept>https?://[^\s\u4e00-\u9fff，。]+|!?\[[^\]\n]*\]\([^)\n]*\))"
    r"|[;?!()]|(?<!\d),|,(?!\d{3}(?!\d))|(?<!\d):|:(?!\d)"
)
_FULL_WIDTH = str.maketrans(",;:?!()", "，；：？！（）")
_BESIDE_CHINESE = re.compile(r"[\u4e00-\u9fff][,;:?!()]|[,;:?!()][\u4e00-\u9fff]")
_SPACING = re.compile(
    r"(?<=[\u4e00-\u9fff]) +(?=[A-Za-z\d])|(?<=[A-Za-z\d%℃]) +(?=[\u4e00-\u9fff])"
    r"|(?<=[，；：？！（）]) +| +(?=[，；：？！（）])"
)


def unify_typography(text: str) -> str:
    """Return Chinese text with full-width punctuation and without spaces between Chinese and Latin characters.

    Authors differ in both, and the rules expect one form.
    """
    lines = (
        _HALF_WIDTH.sub(lambda found: found["kept"] or found[0].translate(_FULL_WIDTH), line)
        if _BESIDE_CHINESE.search(line)
        else line
        for line in text.splitlines()
    )
    return _SPACING.sub("", "\n".join(lines))


def strip_emphasis(text: str) -> str:
    """Remove the Markdown marks for emphasis and code from a text."""
    return _EMPHASIS.sub("", text)


def strip_markup(text: str) -> str:
    """Remove headings, tables, bullets and emphasis marks; add a colon (：) to a bold label before Chinese text."""
    lines = (line for line in text.splitlines() if not _NO_TEXT.match(line))
    labelled = (_LABEL.sub(r"\g<label>：", _MARKS.sub("", line), count=1) for line in lines)
    return "\n".join(map(strip_emphasis, labelled))


def is_balanced(sentence: str) -> bool:
    """Check that a sentence has as many closing as opening brackets; otherwise, part of the sentence is missing."""
    return all(sentence.count(opening) == sentence.count(closing) for opening, closing in ("()", "（）", "《》", "[]"))


class Fact(NamedTuple):
    """A question with its answer, and the sentence that states the answer."""

    question: str
    answer: str
    sentence: str
    # Form of the question: 0 for a complete question, 1 for a quotation that is clear on its own, 2 for a quotation
    # that is clear together with the text's title, and 3 for a quotation that refers to other sentences in the text.
    rank: int = 0


def unwrap(text: str, lang: Lang) -> str:
    """Join the lines of wrapped paragraphs, as in PDF documents and plain text."""
    lines: list[str] = []
    is_open = False  # whether the previous line ends in the middle of a sentence
    for line in text.splitlines():
        starts_block = re.match(r"\s*(?:[-*#|>]|\d+[.)] |$)", line) is not None
        if is_open and not starts_block:
            lines[-1] += (" " if lang == "en" else "") + line.strip()
        else:
            lines.append(line)
        is_long = len(line.strip()) >= _WRAPPED[lang]
        is_open = is_long and not starts_block and re.search(r"[.!?:;。！？：；…][\"'”’）)*]*\s*$", line) is None
    return "\n".join(lines)
