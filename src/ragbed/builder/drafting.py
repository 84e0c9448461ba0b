"""Check that a generated question is self-contained and has a short, typed answer that the article states."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect
from collections.abc import Iterator, Sequence
from datetime import date
from typing import NamedTuple

from ragbed.builder.build_context import Problem
from ragbed.builder.fields import is_nothing, split_aliases
from ragbed.builder.mentions import find_answer
from ragbed.builder.records import Draft
from ragbed.builder.rules.chinese_words import LONG_NOUNS
from ragbed.builder.rules.computable import is_computable
from ragbed.builder.rules.english_words import WORKS, is_distinctive
from ragbed.builder.rules.facts import leave_out_quotation
from ragbed.builder.search.base import read_day
from ragbed.builder.topic_terms import asks_for_a_guess, find_anchors, find_years, share_of
from ragbed.schema import Article, Lang, Question
from ragbed.scoring.robust.gold import GoldSlot, prepare
from ragbed.scoring.robust.normalise import fold
from ragbed.text import guess_lang, split_sentences

# Maximum number of words or characters in an answer. RGB's longest answers have 9 words or 22 characters; longer
# ones are sentences, which responses do not repeat verbatim.
_MAX_ANSWER = {"en": 10, "zh": 24}
_MIN_QUESTION = {"en": 5, "zh": 7}  # minimum number of words or characters; shorter questions cannot name their subject
_YES_NO = {
    "en": re.compile(
        r"^(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|should|may|might)\b", re.IGNORECASE
    ),
    "zh": re.compile(r"吗[？?]?$|是否|是不是|有没有|能否|可否"),
}
_YES = frozenset({"yes", "no", "true", "false", "是", "否", "对", "不对", "有", "没有", "会", "不会", "不是"})
# Words that refer to the article or to its date of publication.
_OUTSIDE = {
    "en": re.compile(
        r"\b(?:the|this|that) (?:text|article|passage|report|story|document|author)\b(?! of\b| (?-i:[A-Z\"“]))"
        r"|\b(?:this|last|next) (?:year|month|week)\b|\b(?:today|yesterday|recently)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "本文|文中|文章|这篇|该(?:新闻|报道|文)|今年|去年|明年|本月|上个?月|今天|昨天|最近|近日|日电|（记者|本报讯"
    ),
}
# Phrases that refer to something mentioned earlier in the question, or to something that the question never names.
_BACK = {
    "en": re.compile(
        r"\b(?:the|this) (?:company|event|city|team|group|firm)\b(?! (?:of|that|which|who|whose|where|with)\b"
        r"| (?-i:[A-Z\"“]))"
        r"|\b(?:they|he|she|it)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("[该此](?:公司|市|县|项目|队|校|国|机构|活动|事件)|这[家位次个起]|此次|本次|他们|她们|上述"),
}
_SAID = {
    "en": re.compile(r"^Who (?:said|stated|remarked)[,:]? [\"“]([^\"”]+)", re.IGNORECASE),
    "zh": re.compile("谁(?:曾)?(?:说过?|表示)[：，]?“([^”]+)”"),
}
_ABBREVIATION = re.compile(
    r"^What (?:does|is) (?:the )?(?:abbreviation |acronym )?([A-Z]{2,6}) (?:stand for|short for|mean)"
)
_NAME_HAN = 4  # minimum number of characters before a match of `_BACK`, enough to contain a name
# Signs that a question names its subject: a capital letter inside a sentence, or a quotation mark.
_NAMED = re.compile(r"(?<!^)(?<![.?!] )[A-Z]|[\"“‘《]")
_WHO = {"en": re.compile(r"^who(?:m|se)?\b", re.IGNORECASE), "zh": re.compile("谁|何人|哪位")}
# Answers that small models sometimes give instead of a specific person's name.
_NOBODY = {
    "en": re.compile(
        r"(?:organi[sz]ers|friends|officials|winners|police|residents|authorities|experts|researchers"
        r"|scientists|people)"
    ),
    "zh": re.compile("[有相]关部门|主办方|警方|当局|官方|专家|记者|居民|市民|网友"),
}
# Names from the examples in the prompts (prompts/build); small models may copy these names into their questions.
EXAMPLES = ("Orsa", "Velden", "Halvorsen", "Lund Bridge", "Ferri", "云溪", "沈知远", "青浦大桥", "顾长风")
_ARTICLE = re.compile(r"^(?:an?|the) ")
# Minimum share of the question's words that the preceding sentence must contain if the sentence with the answer
# contains none of them.
_BEFORE = 0.75
_NO_WORD = re.compile(r"\W+")


class Drafted(NamedTuple):
    """A draft, or the reason why it was rejected."""

    draft: Draft | None
    outcome: str = ""
    reason: str = ""
    dropped: tuple[str, ...] = ()  # rejected aliases


def draft_question(block: dict[str, str], lang: Lang, article: Article | None) -> Drafted:
    """Create a draft from a block of fields.

    Args:
        block: Fields from the generator's response.
        lang: Requested language.
        article: Source of the question; None if it comes from the generator's own knowledge.
    """
    question, answer = block.get("question", "").strip(), block.get("answer", "").strip().rstrip("。")
    problem = next(find_faults(question, answer, lang), None)
    if problem is None and article is not None:
        problem = _check_source(article, question, answer)
    if problem is not None:
        return Drafted(None, *problem)
    named = split_aliases(block.get("aliases", ""))
    aliases = [alias for alias in named if is_alias(alias, answer, question, lang)]
    return Drafted(
        Draft(
            id=hashlib.sha256(f"{lang}\0{_folded(question, lang)}".encode()).hexdigest()[:12],
            question=question,
            lang=lang,
            answer=(tuple(dict.fromkeys((answer, *aliases))),),
            article=None if article is None else article.id,
            origin="known" if article is None else "article",
            kind=slot_of(question, answer, lang).kind.split()[0],
            event=block.get("event", ""),
            date=_day(block.get("date", ""), article),
        ),
        dropped=tuple(alias for alias in named if alias not in aliases),
    )


def find_faults(question: str, answer: str, lang: Lang) -> Iterator[Problem]:
    """Yield an outcome and a reason for each fault in a question and its answer, with content faults last."""
    if not question or is_nothing(question) or question[-1] not in "?？":
        yield "no-question", f"the generator returned no question: {question!r}"
    if not answer or is_nothing(answer):
        yield "no-answer", f"the generator returned no answer to {question!r}"
    if guess_lang(question) != lang:
        yield "language", f"{question!r} is not in the language of the article"
    if _YES_NO[lang].search(question) or answer.lower().rstrip(".") in _YES:
        yield "yes-no", f"{question!r} ({answer}) can be guessed"
    if _size(answer) > _MAX_ANSWER[lang]:
        yield "long-answer", f"{answer!r} is not a short fact"
    yield from _content_faults(question, answer, lang)


def _content_faults(question: str, answer: str, lang: Lang) -> Iterator[Problem]:
    if is_given_away(question, answer, lang):
        yield "in-question", f"{question!r} contains its answer, {answer}"
    elif is_computable(question, answer, lang):
        yield "in-question", f"{answer} can be computed from the numbers in {question!r}"
    if _size(question) < _MIN_QUESTION[lang] or (lang == "en" and not _NAMED.search(question)):
        yield "vague", f"{question!r} names nothing that can be searched for"
    if phrase := _find_generic(question, lang):
        yield "vague", f"{question!r} could mean several things: {phrase!r} needs more context"
    if reference := _find_reference(question, lang):
        yield "vague", f"{question!r} cannot be understood on its own: {reference!r}"
    if asks_for_a_guess(leave_out_quotation(question), lang):
        yield "guess", f"{question!r} asks about an expectation"
    if _WHO[lang].search(question) and _names_nobody(answer, lang):
        yield "unnamed", f"{answer!r} does not name a person, but {question!r} asks for one"


def _find_generic(question: str, lang: Lang) -> str:
    """Return a quotation, abbreviation or name too vague to identify a question's subject, or an empty string."""
    if quoted := _SAID[lang].search(question):
        named = r"(?<=[a-z,] )[A-Z]" if lang == "en" else rf"..(?:{LONG_NOUNS})"
        return "" if re.search(named, quoted[1]) else quoted[1]
    if lang == "zh":
        return ""
    if short := _ABBREVIATION.search(question):
        return short[1]
    names = re.findall(r"(?<=[a-z,(] )[A-Z][\w’'-]*(?: (?:of |the |of the )?[A-Z][\w’'-]*)*", question)
    is_specific = re.search(rf"\d|[\"“‘]|\b(?:{'|'.join(WORKS)}) [A-Z]", question) or any(map(is_distinctive, names))
    return "" if is_specific or not names else names[0]


def _find_reference(question: str, lang: Lang) -> str:
    """Return a word that refers to something outside the question, or an empty string if there is none."""
    question = leave_out_quotation(question)
    if outside := _OUTSIDE[lang].search(question):
        return outside[0]
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
    """Return the number of Han characters plus the number of other words in a text."""
    return len(re.findall(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+", text))


def is_given_away(question: str, answer: str, lang: Lang) -> bool:
    """Check whether the question contains the answer."""
    asked = Question(question=question, lang=lang, answer=((answer,),))
    if any(find_answer(asked, question)):
        return True
    words, text = _ARTICLE.sub("", _folded(answer, lang)), _folded(question, lang)
    return bool(words) and (f" {words} " in f" {text} " if lang == "en" else words in text)


def _check_source(article: Article, question: str, answer: str) -> Problem | None:
    text = f"{article.title}\n{article.text}"
    if copied := next((name for name in EXAMPLES if name in question and name not in text), None):
        return "example", f"{question!r} repeats {copied} from the prompt's example"
    (mentions,) = find_answer(Question(question=question, lang=article.lang, answer=((answer,),)), text)
    if not mentions:
        return "not-in-article", f"the article does not contain {answer!r}, the answer to {question!r}"
    sentences = list(split_sentences(text))
    starts = [start for start, _ in sentences]
    folded = [fold(text[start:end], article.lang) for start, end in sentences]
    places = {bisect(starts, mention.start) - 1 for mention in mentions}
    if years := _other_years(question, [folded[place] for place in places], answer, article.lang):
        return (
            "other-year",
            f"the article gives {answer!r} for {', '.join(sorted(years))}, not for the year in {question!r}",
        )
    # If the answer is a name, its sentence must share words with the question. Other answers need not: a sentence can
    # state a price without the word "cost".
    if slot_of(question, answer, article.lang).kind != "name":
        return None
    if not any(_is_about(question, folded, place, article.lang) for place in places):
        return "unrelated", f"the sentence with {answer!r} has no words in common with {question!r}"
    return None


def _other_years(question: str, sentences: Sequence[str], answer: str, lang: Lang) -> frozenset[str]:
    """Return the years stated with the answer if they all differ from the question's years, otherwise an empty set.

    The set is also empty if the question or a sentence with the answer has no year. Years in the answer are ignored.
    """
    wanted, own = find_years(fold(question, lang)), find_years(fold(answer, lang))
    found = [find_years(sentence) - own for sentence in sentences]
    is_other = wanted and all(years and not years & wanted for years in found)
    return frozenset().union(*found) if is_other else frozenset()


def _is_about(question: str, sentences: Sequence[str], place: int, lang: Lang) -> bool:
    """Check that a sentence has one of the question's words, or that the previous sentence has most of them."""
    anchors, before = find_anchors(question, lang), sentences[place - 1] if place else ""
    return share_of(anchors, sentences[place], lang) > 0 or share_of(anchors, before, lang) >= _BEFORE


def is_alias(alias: str, answer: str, question: str, lang: Lang) -> bool:
    """Check that an alias has the same value or letters as the answer, or that one consists of the other's initials."""
    if any(find_faults(question, alias, lang)):
        return False
    mine, other = slot_of(question, answer, lang), slot_of(question, alias, lang)
    if mine.forms & other.forms:
        return True
    if mine.kind != "name" or other.kind != "name":
        return False
    short, long = sorted((_folded(alias, lang), _folded(answer, lang)), key=len)
    return short == "".join(word[0] for word in long.split())


def slot_of(question: str, answer: str, lang: Lang) -> GoldSlot:
    """Return the parsed answer to a question."""
    return prepare(question, ((answer,),), None, lang).slots[0]


def _folded(text: str, lang: Lang) -> str:
    return _NO_WORD.sub(" " if lang == "en" else "", fold(text, lang)).strip()


def _day(text: str, article: Article | None) -> str | None:
    """Return the generator's event date if it is valid and not after the article's date, otherwise the article's date.

    Questions from an undated article get no date: if the generator's date were too late, they would wrongly pass the
    knowledge cut-off check. Questions from the generator's own knowledge have no article and are not checked.
    """
    try:
        day = date.fromisoformat(read_day(text) or "").isoformat()
    except ValueError:
        day = None
    if article is None:
        return day
    return min(day, article.date) if day and article.date else article.date
