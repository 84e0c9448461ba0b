"""Passages: whole sentences, short enough, every token in exactly one of them."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from ragbed.builder.passages import MAX_TOKENS, count_tokens, split_article
from ragbed.schema import Article
from ragbed.text import split_sentences

ENGLISH = [
    "The council of Marrow Bay opened its new footbridge on Tuesday.",
    'Mr. Ilic, who lives in the U.S. state of Maine, said: "It took 3.5 years, i.e. far too long!"',
    "J. K. Orr of Orr & Co. Ltd. paid $1.2 million at 9 a.m. on Nov. 3.",
    "He then moved back to the U.S. The bridge stayed.",
    "Was it worth it? “Yes,” the mayor said.",
]
CHINESE = [
    "新建的步行桥于周二正式开放。",
    "市长说：“我们等了两年！”",
    "他问道：值得吗？",
    "“值得。”人们回答；工程师也这样说……",
]


def article(text: str) -> Article:
    return Article(id="a", url="u", title="", text=text, lang="en", sha256="", source="s")


def test_every_passage_starts_with_the_title_and_its_headings() -> None:
    days = "Up to five days can be carried over to March. " * 12
    text = f"# Leave at Orsa\n{ENGLISH[0] * 3}\n## Carry-over\n{days}\n### Managers\n{days}\n## Sundays\n{days}"
    titled = structs.replace(article(text), title="Leave at Orsa")
    chunks = list(split_article(titled, 120))
    heads = [chunk.text.removesuffix(titled.text[chunk.start : chunk.end]) for chunk in chunks]
    assert list(dict.fromkeys(heads)) == [
        "Leave at Orsa\n",
        "Leave at Orsa\nCarry-over\n",
        "Leave at Orsa\nCarry-over\nManagers\n",
        "Leave at Orsa\nSundays\n",
    ]
    assert all(count_tokens(chunk.text) <= 120 for chunk in chunks)
    assert len(chunks) > len(set(heads))  # long sections are cut, and every piece keeps its headings


def sentences(text: str) -> list[str]:
    return [text[start:end].strip() for start, end in split_sentences(text)]


def test_english_sentences_are_not_cut_at_abbreviations_and_numbers() -> None:
    assert sentences(" ".join(ENGLISH)) == [
        *ENGLISH[:3],
        "He then moved back to the U.S.",
        "The bridge stayed.",
        "Was it worth it?",
        "“Yes,” the mayor said.",
    ]


def test_chinese_sentences_keep_their_closing_quotes() -> None:
    assert sentences("".join(CHINESE)) == [*CHINESE[:3], "“值得。”", "人们回答；", "工程师也这样说……"]


def test_a_line_is_a_border_even_without_a_full_stop() -> None:
    assert sentences("Bridge opens\nThe council was pleased.\n\n天气预报\n明天有雨。") == [
        "Bridge opens",
        "The council was pleased.",
        "天气预报",
        "明天有雨。",
    ]


TOKENS = {
    "": 0,
    "  \n": 0,
    "rain": 1,
    "heavy rain.": 3,
    "international": 3,
    "2026": 4,
    "今天有雨。": 5,
    "café": 1,
    "a_b": 3,
}


@pytest.mark.parametrize(("text", "tokens"), TOKENS.items())
def test_tokens_are_counted_as_documented(text: str, tokens: int) -> None:
    assert count_tokens(text) == tokens


def test_a_long_article_is_cut_between_sentences_into_passages_of_like_length() -> None:
    text = "\n".join(" ".join(ENGLISH[:3]) for _ in range(12)) + "\n" + "".join(CHINESE) * 30
    found = list(split_article(article(text)))
    assert all(one.text == text[one.start : one.end] for one in found)
    sizes = [count_tokens(one.text) for one in found]
    assert max(sizes) <= MAX_TOKENS
    assert sum(sizes) == count_tokens(text)
    assert min(sizes) > 0.7 * max(sizes)
    ends = {text[:end].rstrip() for _, end in split_sentences(text)}
    assert all(text[: one.end] in ends for one in found)


def test_a_short_article_is_one_passage() -> None:
    (found,) = split_article(article(f"  {ENGLISH[0]}\n"))
    assert (found.text, found.start) == (ENGLISH[0], 2)


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000"])
def test_an_empty_article_has_none(text: str) -> None:
    assert list(split_article(article(text))) == []


OVERLONG = {
    "clauses": ("第一条规定，" * 200 + "完。", "，"),
    "words": ("rain " * 700, ""),
    "one word": ("x" * 4000, ""),
    "Han without a mark": ("雨" * 1000, ""),
}


@pytest.mark.parametrize(("text", "end"), OVERLONG.values(), ids=OVERLONG)
def test_a_sentence_that_is_too_long_is_cut_at_clauses_or_words_or_anywhere(text: str, end: str) -> None:
    found = list(split_article(article(text)))
    sizes = [count_tokens(one.text) for one in found]
    assert all(0 < size <= MAX_TOKENS for size in sizes)
    assert sum(sizes) == count_tokens(text)
    assert all(one.text.endswith(end) for one in found[:-1])


@given(st.text(alphabet="ab .!?\n,。，雨1“”()A", max_size=400), st.integers(1, 40))
def test_nothing_is_lost_or_doubled_whatever_the_text(text: str, most: int) -> None:
    found = list(split_article(article(text), most))
    assert all(0 < count_tokens(one.text) <= most and one.text == text[one.start : one.end] for one in found)
    assert sum(count_tokens(one.text) for one in found) == count_tokens(text)
    assert all(earlier.end <= later.start for earlier, later in pairwise(found))
