"""Let a model ask about a sentence and a value that the rules select, so that a small model need not find facts.

The question must keep the words of the sentence. It names the title of the text, which says what the sentence is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.build_context import Problem
from ragbed.builder.fields import read_blocks
from ragbed.builder.model_requests import make_case, write_prompt
from ragbed.builder.rules import find_facts
from ragbed.builder.rules.facts import BLANK, Fact, leave_out_quotation, name_source
from ragbed.builder.topic_terms import find_anchors, share_of
from ragbed.schema import Article, Case, Lang
from ragbed.scoring.robust.normalise import fold

TASK = "sentence"
# Words that refer to another sentence, and relative times. A question can keep neither.
_UNCLEAR: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(
        r"\b(?:it|its|he|she|they|them|him|her|his|their|this|these|those|such|another|others?|latter|former|we|our|us|I"
        r"|my|same|ones?|ago|(?:last|this|next) (?:year|month|week|winter|summer|spring|autumn|season|time)|following"
        r"|previous|then|again|today|yesterday)\b|^(?:And|But|So|Yet|Nor|Instead|Of (?:these|those))\b",
        re.IGNORECASE,
    ),
    "zh": re.compile(
        "[他她它其该此这那我你您]|本(?=[^地土科来身质源草]|$)|同[年月日期]|次[年日]|当[年时天晚地日月]|今[天年]|去年|前年|昨[天日晚]|上[个周届次]|另[一外有]|双方|两[者家]|前者|后者"
        "|^(?:但|而|不过|因此|所以|于是|其中|随后|后来|同时|至此|此外)"
    ),
}
_ENOUGH = 50  # number of sentences with values after which no more of a long text is read
_PER_SENTENCE = 2  # maximum number of values of a sentence to ask for
_MIN_KEPT = {"en": 0.5, "zh": 0.45}  # minimum share of the sentence's words in the question
_MIN_KNOWN = {"en": 0.8, "zh": 0.7}  # minimum share of the question's words in the sentence or in the title
# Question words for each kind of value, by the words with which the rules ask for it.
_WORDS = {
    "Which date": r"\b(?:when|date|day)\b",
    "Which year": r"\b(?:year|when)\b",
    "Which percentage": r"\b(?:percent\w*|per cent|share|proportion)\b",
    "Which number": r"\b(?:how|number)\b",
    "Which amount of money": r"\b(?:how much|how many|amount|price|cost|sum|fee)\b",
    "Whose name": r"^(?:who|whose|by whom|to whom|after whom)\b",
    "哪一天": "哪一?[天日]|几月几日|何时|什么时候",
    "哪一年": "哪一?年|何时|什么时候",
    "哪年哪月": "哪年哪月|哪一?年几?月|何时|什么时候",
    "什么百分比": "百分之[多几]|多少|百分比|比例",
    "什么数量": "多少|几|多[长高大重远宽深]",
    "什么金额": "多少|金额|几",
    "谁的名字": "谁|哪位",
}
_MIN_CLAUSE = 0.75  # minimum share of the words of the clause with the value in the question
_MARKS = r"[,;:](?!\d)|[，；：。]"  # punctuation between clauses
_NUMBERS = r"\d[\d,.]*\d|\d|[一二两三四五六七八九]?[十百千万][一二两三四五六七八九十百千]*"
_ASKING: dict[Lang, str] = {
    "en": r"\b(?:how|which|what|who|whose|when)\b",
    "zh": "多少|几[^乎何]|哪一?|谁|何时|什么",
}
_LOOSE_END = re.compile(r"\b(?:every|for|of|with|by|to|at|than|from|and|or|as|on)\?$")
# Words before or after a value that a question must keep.
_LINK = re.compile(
    r"\b(after|every|below|above|before|within|by|from|until|since|at|under|over|another)(?: the age of)? $",
    re.IGNORECASE,
)
_LINK_AFTER = re.compile("(之[后前]|以[来前后上下内]|[起前后内底初])")
_ASKED = {
    "Which date": "On which date",
    "Which year": "In which year",
    "Which percentage": "What percentage",
    "Which amount of money": "How much",
    "Whose name": "Who",
    "什么百分比": "百分之多少",
    "谁的名字": "谁",
    "哪一天": "哪一天",
    "哪一年": "哪一年",
    "哪年哪月": "哪年哪月",
}
_NOUN = re.compile(
    r" ((?:(?!(?:of|in|on|at|by|and|to|is|was|are|were|has|had|have|for|from|with|a|per)\b)[a-z-]+))"
)  # the noun after an English number
_NUMERAL = re.compile(r"^(?:[\d.,]+|[一二两三四五六七八九十百千零]+)[万亿]?(?:[一二两三四五六七八九]千)?")


def select_facts(article: Article, most: int) -> list[Fact]:
    """Return the facts of an article to ask about: values in sentences that are clear together with the title."""
    found = find_facts(article, _ENOUGH, per_sentence=_PER_SENTENCE)
    facts = (fact for fact in found if BLANK in fact.question and _kind(fact) in _WORDS)
    titled = (fact for fact in facts if leave_out_quotation(fact.question) != fact.question)
    return [fact for fact in titled if not _UNCLEAR[article.lang].search("".join(_split(fact)))][:most]


def make_sentence_case(article: Article, fact: Fact) -> Case:
    """Create the case in which a model writes a question about a fact."""
    before, after = _split(fact)
    marked = f"{before}[[{fact.answer}]]{after}"
    return make_case(
        TASK, article.lang, write_prompt(article.lang, TASK, {"SENTENCE": marked}, {"WORDS": _question_words(fact)})
    )


def _question_words(fact: Fact) -> str:
    """Return the words with which a question should ask for a value: "How many tonnes", 多少吨."""
    kind, link = _kind(fact), _LINK.search(_split(fact)[0])
    if kind in ("Which year", "Which date") and link:
        return f"{link[1].capitalize()} {kind.lower()}"
    if kind == "Which number":
        noun = _NOUN.match(_split(fact)[1])
        return f"How many {noun[1]}" if noun else "How many"
    if kind in ("什么数量", "什么金额"):
        return f"多少{_NUMERAL.sub('', fact.answer)}"
    return _ASKED[kind]


def read_question(article: Article, fact: Fact, reply: str) -> dict[str, str] | Problem:
    """Return the fields of a question in a model's response, or the outcome and reason if it changes the fact.

    Args:
        article: The article.
        fact: The fact that the model was asked about.
        reply: The response.
    """
    blocks = read_blocks(reply, "question")
    question = blocks[0].get("question", "") if blocks else ""
    if problem := next(_find_changes(question, article, fact), None):
        return problem
    return {
        "event": fact.sentence,
        "question": name_source(question, fact.question, article.lang),
        "answer": fact.answer,
    }


def _find_changes(question: str, article: Article, fact: Fact) -> Iterator[Problem]:
    lang = article.lang
    if not question.endswith(("?", "？")):
        yield "no-question", f"the generator returned no question: {question!r}"
    if not re.search(_WORDS[_kind(fact)], question, re.IGNORECASE):
        yield "type", f"{question!r} does not ask for {fact.answer!r}"
    if len(re.findall("[？?]", question)) > 1:
        yield "no-question", f"{question!r} asks for more than one value"
    before, after = _split(fact)
    sentence = before + after
    if missing := [
        number for number in re.findall(r"\d[\d,.]*\d|\d", _clause(before, after)) if number not in question
    ]:
        yield "unrelated", f"{question!r} leaves out {', '.join(missing)}"
    if _kind(fact) in ("Which number", "什么数量") and not _counts_same(question, after, lang):
        yield "unrelated", f"{question!r} asks for the number of something else than {fact.sentence[:80]!r}"
    asked, stated = find_anchors(_bare(question, lang), lang), find_anchors(sentence, lang)
    if share_of(asked, fold(f"{article.title}\n{sentence}", lang), lang) < _MIN_KNOWN[lang]:
        yield "unrelated", f"{question!r} adds words to the sentence {fact.sentence[:80]!r}"
    if share_of(stated, fold(question, lang), lang) < _MIN_KEPT[lang]:
        yield "unrelated", f"{question!r} leaves out most of the sentence {fact.sentence[:80]!r}"
    yield from _find_confusions(question, before, after, lang)


def _find_confusions(question: str, before: str, after: str, lang: Lang) -> Iterator[Problem]:
    """Yield the problem if a question is about another value of the sentence, or leaves out a part of the statement."""
    if len(re.findall(_ASKING[lang], question, re.IGNORECASE)) > 1 or _LOOSE_END.search(question):
        yield "no-question", f"{question!r} is not one complete question"
    link = _LINK.search(before) or _LINK_AFTER.match(after)
    if link and not re.search(rf"\b{link[1]}\b" if lang == "en" else link[1], question, re.IGNORECASE):
        yield "unrelated", f"{question!r} leaves out {link[1]!r}"
    earlier, later = re.split(_MARKS, before), re.split(_MARKS, after)
    own = f"{earlier.pop()} {later.pop(0)}"
    while earlier and not find_anchors(own, lang):
        own = f"{earlier.pop()} {own}"
    kept = fold(question, lang)
    if share_of(find_anchors(own, lang), kept, lang) < _MIN_CLAUSE:
        yield "unrelated", f"{question!r} leaves out a part of {own.strip()[:80]!r}"
    for other in (*earlier, *later):
        left_out = [number for number in re.findall(_NUMBERS, other) if number not in question]
        foreign = [term for term in find_anchors(other, lang) if term not in fold(own, lang) and term in kept]
        if left_out and foreign:
            yield "unrelated", f"{question!r} may ask for {left_out[0]!r} instead"


def _clause(before: str, after: str) -> str:
    """Return the clause that contained the answer."""
    return re.split(_MARKS, before)[-1] + " " + re.split(_MARKS, after)[0]


def _counts_same(question: str, after: str, lang: Lang) -> bool:
    """Check that a question counts the same noun as the sentence, e.g. "how many minutes" for "40 minutes"."""
    if lang == "zh":
        noun = re.match(r"[\u4e00-\u9fff]{1,2}", after)
        return noun is None or re.search(f"(?:多少|几).{{0,3}}{noun[0]}", question) is not None
    noun = _NOUN.match(after)
    if noun is None:
        return False
    return re.search(rf"\bhow (?:many|much) {re.escape(noun[1])}\b", question, re.IGNORECASE) is not None


def _bare(question: str, lang: Lang) -> str:
    """Remove the question words, which the sentence does not contain."""
    words = r"(?i)\b(?:when|date|day|year|percent\w*|per cent|share|amount|money|price|number|did|does)\b"
    return re.sub(words if lang == "en" else "哪一?[天日年]|百分之|几月几日|什么|金额", " ", question)


def _kind(fact: Fact) -> str:
    found = re.match(r"(Which [a-z ]+?|Whose name) completes|.*空格处应填(.+)？$", fact.question, re.DOTALL)
    return (found[1] or found[2]) if found else ""


def _split(fact: Fact) -> tuple[str, str]:
    """Return the parts of the quoted sentence before and after the blank."""
    found = re.search(f"“([^“”]*){BLANK}([^“”]*)”", fact.question)
    return (found[1], found[2]) if found else ("", "")
