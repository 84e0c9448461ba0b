"""One question of a generator, checked by rules: short typed answer, self-contained, not given away, in the article."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from ragbed.builder.fields import is_nothing, split_aliases
from ragbed.builder.hedges import asks_for_a_guess
from ragbed.builder.mentions import AnswerMention, find_answer
from ragbed.builder.records import Draft
from ragbed.builder.search.base import read_day
from ragbed.builder.topic_terms import find_anchors, find_years, share_of
from ragbed.schema import Article, Lang, Question
from ragbed.scoring.robust.gold import GoldSlot, prepare
from ragbed.scoring.robust.normalise import fold
from ragbed.text import guess_lang, split_sentences

_LONGEST_WORDS, _LONGEST_HAN = 10, 24
"""Of an answer. RGB's longest have 9 words and 22 characters; beyond that it is a sentence, which nobody repeats
word for word."""
_SHORTEST_WORDS, _SHORTEST_HAN = 5, 7
"""Of a question: fewer cannot name what it is about."""
_YES_NO = {
    "en": re.compile(
        r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might)\b", re.IGNORECASE
    ),
    "zh": re.compile(r"吗[？?]?$|是否|是不是|有没有|能否|可否"),
}
_YES = frozenset({"yes", "no", "true", "false", "是", "否", "对", "不对", "有", "没有", "会", "不会", "不是"})
_AWAY = {
    "en": re.compile(
        r"\b(?:the|this|that) (?:text|article|passage|report|story|document|author)\b(?! of\b| [A-Z\"“])"
        r"|\b(?:this|last|next) (?:year|month|week)\b|\b(?:today|yesterday|recently)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "本文|文中|文章|这篇|该(?:新闻|报道|文)|今年|去年|明年|本月|上个?月|今天|昨天|最近|近日|日电|（记者|本报讯"
    ),
}
"""Words that point at the article, or at the day it was read."""
_BACK = {
    "en": re.compile(
        r"\b(?:the|this) (?:company|event|city|team|group|firm)\b(?! (?:of|that|which|who|whose|where|with)\b)"
        r"|\b(?:they|he|she|it)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("[该此](?:公司|市|县|项目|队|校|国|机构|活动|事件)|这[家位次个起]|此次|本次|他们|她们|上述"),
}
"""Words that point back: at something in the question, or else at nothing that its reader knows."""
_NAME_HAN = 4
"""Characters of a Chinese question before such a word in which a name can stand."""
_NAMED = re.compile(r"(?<!^)(?<![.?!] )[A-Z]|[\"“‘《]")
"""A capital inside the sentence, or a title: something to look up. A figure alone is none, as in "the 2020 final"."""
_WHO = {"en": re.compile(r"^who(?:m|se)?\b", re.IGNORECASE), "zh": re.compile("谁|何人|哪位")}
_NOBODY = {
    "en": re.compile(
        r"(?:organi[sz]ers|friends|officials|winners|police|residents|authorities|experts|researchers|scientists|people)"
    ),
    "zh": re.compile("[有相]关部门|主办方|警方|当局|官方|专家|记者|居民|市民|网友"),
}
"""Answers that name nobody in particular; seen of small models."""
EXAMPLES = ("Orsa", "Velden", "Halvorsen", "Lund Bridge", "Ferri", "云溪", "沈知远", "青浦大桥", "顾长风")
"""Names in the examples of the prompts (prompts/build): small models put them into questions of their own."""
_ARTICLE = re.compile(r"^(?:an?|the) ")
_BEFORE = 0.75
"""Share of a question's words that the sentence before that of the answer must have: "Who wrote it? It was she."."""
_NO_WORD = re.compile(r"\W+")


class Drafted(NamedTuple):
    """A draft, or why there is none."""

    draft: Draft | None
    outcome: str = ""
    reason: str = ""
    dropped: tuple[str, ...] = ()
    """Aliases that were not believed."""


def draft_question(block: dict[str, str], lang: Lang, article: Article | None) -> Drafted:
    """A block of fields as a draft.

    Args:
        block: The generator's fields.
        lang: That was asked for.
        article: The source; None for what the generator says it knows.
    """
    question, answer = block.get("question", "").strip(), block.get("answer", "").strip().rstrip("。")
    if problem := _refuse_texts(question, answer, lang):
        return Drafted(None, *problem)
    if article is not None and (problem := _refuse_source(article, question, answer)):
        return Drafted(None, *problem)
    named = split_aliases(block.get("aliases", ""))
    aliases = [alias for alias in named if _is_alias(alias, answer, question, lang)]
    return Drafted(
        Draft(
            id=hashlib.sha256(f"{lang}\0{_folded(question, lang)}".encode()).hexdigest()[:12],
            question=question,
            lang=lang,
            answer=(tuple(dict.fromkeys((answer, *aliases))),),
            article=None if article is None else article.id,
            origin="known" if article is None else "article",
            kind=_slot(question, answer, lang).kind.split()[0],
            event=block.get("event", ""),
            date=_day(block.get("date", ""), article),
        ),
        dropped=tuple(alias for alias in named if alias not in aliases),
    )


def _refuse_texts(question: str, answer: str, lang: Lang) -> tuple[str, str] | None:
    """What is wrong with a question and its answer, whatever the article says; outcome and reason."""
    return next(_faults(question, answer, lang), None)


def _faults(question: str, answer: str, lang: Lang) -> Iterator[tuple[str, str]]:
    """All that is wrong, the plainest first: with the form, then with what is asked."""
    if not question or is_nothing(question) or question[-1] not in "?？":
        yield "no-question", f"the generator gives no question: {question!r}"
    if not answer or is_nothing(answer):
        yield "no-answer", f"the generator gives no answer to {question!r}"
    if guess_lang(question) != lang:
        yield "language", f"{question!r} is not in the language of its article"
    if _YES_NO[lang].search(question) or answer.lower().rstrip(".") in _YES:
        yield "yes-no", f"{question!r} ({answer}) can be guessed"
    if _size(answer) > (_LONGEST_HAN if lang == "zh" else _LONGEST_WORDS):
        yield "long-answer", f"{answer!r} is no short fact"
    yield from _faults_of_sense(question, answer, lang)


def _faults_of_sense(question: str, answer: str, lang: Lang) -> Iterator[tuple[str, str]]:
    if is_given_away(question, answer, lang):
        yield "in-question", f"{question!r} holds its answer, {answer}"
    if _size(question) < (_SHORTEST_HAN if lang == "zh" else _SHORTEST_WORDS) or not _is_named(question, lang):
        yield "vague", f"{question!r} names nothing that could be looked up"
    if pointing := _pointing(question, lang):
        yield "vague", f"{question!r} cannot be understood alone: {pointing!r}"
    if asks_for_a_guess(question, lang):
        yield "guess", f"{question!r} asks for what somebody expects"
    if _WHO[lang].search(question) and _names_nobody(answer, lang):
        yield "unnamed", f"{answer!r} names nobody, and {question!r} asks who"


def _pointing(question: str, lang: Lang) -> str:
    """A word that points at something outside the question; empty if there is none."""
    if away := _AWAY[lang].search(question):
        return away[0]
    back = _BACK[lang].search(question)
    if back is None:
        return ""
    before = question[: back.start()]
    is_named = _NAMED.search(before) is not None if lang == "en" else _size(before) >= _NAME_HAN
    return "" if is_named else back[0]


def _names_nobody(answer: str, lang: Lang) -> bool:
    bare = _ARTICLE.sub("", answer.lower())
    return _NOBODY[lang].fullmatch(bare) is not None or (lang == "en" and answer == answer.lower())


def _size(text: str) -> int:
    """Han characters and Latin words."""
    return len(re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", text))


def _is_named(question: str, lang: Lang) -> bool:
    return lang == "zh" or _NAMED.search(question) is not None


def is_given_away(question: str, answer: str, lang: Lang) -> bool:
    """Whether the answer, or all of its words, stand in the question."""
    asked = Question(question=question, lang=lang, answer=((answer,),))
    if any(find_answer(asked, question)):
        return True
    folded, held = _ARTICLE.sub("", _folded(answer, lang)), _folded(question, lang)
    return bool(folded) and (f" {folded} " in f" {held} " if lang == "en" else folded in held)


def _refuse_source(article: Article, question: str, answer: str) -> tuple[str, str] | None:
    """What is wrong with a question and answer for their article: small models pair what does not belong together."""
    asked = Question(question=question, lang=article.lang, answer=((answer,),))
    text = f"{article.title}\n{article.text}"
    if taken := next((name for name in EXAMPLES if name in question and name not in text), None):
        return "example", f"{question!r} has {taken} from the prompt's example"
    (held,) = find_answer(asked, text)
    if not held:
        return "not-in-article", f"the article does not say {answer!r}, the answer to {question!r}"
    if told := _other_years(question, text, held, answer, article.lang):
        return "other-year", f"the article says {answer!r} of {', '.join(sorted(told))}, not what {question!r} asks for"
    if _slot(question, answer, article.lang).kind != "name":  # "for 44 million crowns" need not say "cost"
        return None
    if not any(_is_about(question, text, one.start, article.lang) for one in held):
        return "unrelated", f"the sentence with {answer!r} shares no word with {question!r}"
    return None


def _other_years(question: str, text: str, held: Sequence[AnswerMention], answer: str, lang: Lang) -> frozenset[str]:
    """The years of the sentences that hold an answer, if each of them names some and none one that is asked for."""
    asked, own = find_years(fold(question, lang)), find_years(fold(answer, lang))
    if not asked:
        return frozenset()
    sentences = list(split_sentences(text))
    starts = [start for start, _ in sentences]
    places = {bisect(starts, one.start) - 1 for one in held}
    told = [find_years(fold(text[slice(*sentences[place])], lang)) - own for place in places]
    return frozenset().union(*told) if all(years and not years & asked for years in told) else frozenset()


def _is_about(question: str, text: str, place: int, lang: Lang) -> bool:
    """Whether the sentence at a place shares a word with a question, or the one before it has nearly all of them."""
    anchors, before = find_anchors(question, lang), ""
    for start, end in split_sentences(text):
        sentence = fold(text[start:end], lang)
        if start <= place < end:
            return share_of(anchors, sentence, lang) > 0 or share_of(anchors, before, lang) >= _BEFORE
        before = sentence
    return False


def _is_alias(alias: str, answer: str, question: str, lang: Lang) -> bool:
    """Whether another spelling surely means the same: the same value, the same letters, or its initials."""
    if _refuse_texts(question, alias, lang):
        return False
    mine, other = _slot(question, answer, lang), _slot(question, alias, lang)
    if mine.forms & other.forms:
        return True
    if mine.kind != "name" or other.kind != "name":
        return False
    short, long = sorted((_folded(alias, lang), _folded(answer, lang)), key=len)
    return short == "".join(word[0] for word in long.split())


def _slot(question: str, answer: str, lang: Lang) -> GoldSlot:
    return prepare(question, ((answer,),), None, lang).slots[0]


def _folded(text: str, lang: Lang) -> str:
    return _NO_WORD.sub(" " if lang == "en" else "", fold(text, lang)).strip()


def _day(told: str, article: Article | None) -> str | None:
    """The generator's date if it is one, and none after its article; else the article's.

    Of an undated article there is none: nothing bounds what the generator says, and a late day opens the gate of
    cut-offs. Questions that it knows have no article, and do not pass that gate.
    """
    try:
        day = date.fromisoformat(read_day(told) or "").isoformat()
    except ValueError:
        day = None
    if article is None:
        return day
    return min(day, article.date) if day and article.date else article.date
