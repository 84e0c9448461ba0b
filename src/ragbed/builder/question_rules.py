"""Check with rules that a question is self-contained, does not give its answer away, and has a short, stated answer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from ragbed.builder.build_context import Problem
from ragbed.builder.responses import is_nothing
from ragbed.builder.statements import WEAK, find_anchors, find_answer
from ragbed.schema import Lang, Question
from ragbed.scoring.robust.gold import GoldSlot, prepare
from ragbed.scoring.robust.normalise import fold
from ragbed.text import guess_lang, split_sentences, squeezed

# Maximum number of words or characters in an answer. RGB's longest answers have 9 words or 22 characters; longer
# ones are sentences, which responses do not repeat verbatim.
_MAX_ANSWER = {"en": 10, "zh": 24}
_MIN_QUESTION = {"en": 4, "zh": 6}  # minimum number of words or characters; shorter questions cannot name their subject
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
        r"\b(?:the|this|that) (?:text|article|passage|report|story|document|author|sentence)\b"
        r"(?! of\b| (?-i:[A-Z\"“]))"
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
        r"\b(?:the|this) (?:company|event|city|team|group|firm|organi[sz]ation)\b"
        r"(?! (?:of|that|which|who|whose|where|with)\b| (?-i:[A-Z\"“]))"
        r"|\b(?:they|he|she|it|his|her|their|its)\b",
        re.IGNORECASE,
    ),
    "zh": re.compile("[该此](?:公司|市|县|项目|队|校|国|机构|活动|事件)|这[家位次个起]|此次|本次|他们|她们|上述"),
}
_NAME_HAN = 4  # minimum number of characters before a match of `_BACK`, enough to contain a name
# Signs that a question names its subject: a capital letter inside a sentence, or a quotation mark.
_NAMED = re.compile(r"(?<!^)(?<![.?!] )[A-Z]|[\"“‘《]")
_ARTICLE = re.compile(r"^(?:an?|the) ")
_TOKEN = re.compile(r"[\u3400-\u9fff]|[^\W\u3400-\u9fff]+")
# Minimum share of a quotation's words that its sentence contains. Models leave out clauses, and repeat the words that a
# clause shares with the clause before it.
_QUOTED = 0.8
_REPEATED = 0.5  # share of an answer's words above which a question that contains them gives it away


def find_faults(question: str, answer: str, lang: Lang) -> Iterator[Problem]:
    """Yield an outcome and a reason for each fault in a question and its answer, with content faults last.

    Args:
        question: The question.
        answer: The answer.
        lang: The language that both should have.
    """
    if not question or is_nothing(question) or question[-1] not in "?？":
        yield "no-question", f"the generator returned no question: {question!r}"
    if not answer or is_nothing(answer):
        yield "no-answer", f"the generator returned no answer to {question!r}"
    if guess_lang(question) != lang:
        yield "language", f"{question!r} is not in the language of the article"
    if _YES_NO[lang].search(question) or answer.lower().rstrip(".") in _YES:
        yield "yes-no", f"{question!r} ({answer}) can be guessed"
    if size(answer) > _MAX_ANSWER[lang]:
        yield "long-answer", f"{answer!r} is not a short fact"
    if is_given_away(question, answer, lang):
        yield "in-question", f"{question!r} contains its answer, {answer}"
    if size(question) < _MIN_QUESTION[lang] or (lang == "en" and not _NAMED.search(question)):
        yield "vague", f"{question!r} does not name what it is about"
    if reference := _find_reference(question, lang):
        yield "vague", f"{question!r} cannot be understood on its own: {reference!r}"


def _find_reference(question: str, lang: Lang) -> str:
    """Return a word that refers to something outside the question, or an empty string if there is none."""
    if outside := _OUTSIDE[lang].search(question):
        return outside[0]
    back = _BACK[lang].search(question)
    if back is None:
        return ""
    before = question[: back.start()]
    is_named = _NAMED.search(before) is not None if lang == "en" else size(before) >= _NAME_HAN
    return "" if is_named else back[0]


def size(text: str) -> int:
    """Return the number of Han characters plus the number of other words in a text."""
    return len(_TOKEN.findall(text))


def is_given_away(question: str, answer: str, lang: Lang) -> bool:
    """Check whether the question contains the answer, its value in another form, or most of its words."""
    if lang == "zh":
        question = question.replace("哪一", "哪")  # 哪一层 does not give away 一层
    if any(find_answer(Question(question=question, lang=lang, answer=((answer,),)), question)):
        return True
    words, text = _ARTICLE.sub("", fold_words(answer, lang)), fold_words(question, lang)
    if words and (f" {words} " in f" {text} " if lang == "en" else words in text):
        return True
    if any(map(str.isdigit, words)):  # the unit of a number may appear: "How many working days …?"
        return False
    own = find_anchors(answer, lang)
    return len(own) > 1 and len(own & find_anchors(question, lang)) > _REPEATED * len(own)


def locate_quote(text: str, quote: str) -> tuple[int, int] | None:
    """Return the start and end of the sentence of a text that a model quotes, or None if the text does not contain it.

    The quotation may be a part of the sentence, and differ in white space, punctuation and a few words.
    """
    wanted = Counter(_TOKEN.findall(quote.lower()))
    best, share, place = 0.0, 0.0, None
    for start, end in split_sentences(text):
        sentence = text[start:end]
        if len(squeezed(quote)) > 1 and squeezed(quote) in squeezed(sentence):
            return start, end
        own = Counter(_TOKEN.findall(sentence.lower()))
        shared = (own & wanted).total()
        if (score := 2 * shared / max(1, own.total() + wanted.total())) > best:
            best, share, place = score, shared / wanted.total(), (start, end)
    return place if share >= _QUOTED else None


def form_in(question: Question, sentence: str) -> str:
    """Return the answer as it stands in a sentence, or an empty string if the sentence does not state it."""
    (mentions,) = find_answer(question, sentence)
    found = [mention for mention in mentions if mention.rule not in WEAK]
    if not found:
        return ""
    answer = question.answer[0][0]
    return answer if answer in sentence else sentence[found[0].start : found[0].end].strip(" .,。，")


def is_alias(alias: str, answer: str, question: str, lang: Lang) -> bool:
    """Check that an alias has the same value or letters as the answer, or that one consists of the other's initials."""
    if not alias or size(alias) > _MAX_ANSWER[lang] or is_given_away(question, alias, lang):
        return False
    mine, other = slot_of(question, answer, lang), slot_of(question, alias, lang)
    if mine.forms & other.forms:
        return True
    if mine.kind != "name" or other.kind != "name":
        return False
    short, long = sorted((fold_words(alias, lang), fold_words(answer, lang)), key=len)
    return short == "".join(word[0] for word in long.split())


def slot_of(question: str, answer: str, lang: Lang) -> GoldSlot:
    """Return the parsed answer to a question."""
    return prepare(question, ((answer,),), None, lang).slots[0]


def fold_words(text: str, lang: Lang) -> str:
    """Return a text in normalised form without punctuation."""
    return re.sub(r"\W+", " " if lang == "en" else "", fold(text, lang)).strip()
