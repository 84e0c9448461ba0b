"""Have a model write questions about values that rules select, so that the model need not find facts itself.

The question must keep the words of the sentence. It names the title of the text, which says what the sentence is about.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.build_context import Problem
from ragbed.builder.fields import read_blocks
from ragbed.builder.model_requests import make_case, write_prompt
from ragbed.builder.question_wording import Value, find_rewording
from ragbed.builder.rules import find_facts
from ragbed.builder.rules.facts import BLANK, Fact, leave_out_quotation, name_source
from ragbed.schema import Article, Case, Lang

TASK = "sentence"
# Words that refer to another sentence, and relative time expressions. A question must contain neither.
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
# Words that are clear in a quotation but not in a standalone question.
_CONTEXT: dict[Lang, re.Pattern[str]] = {
    "en": re.compile(r"\b(?:now|there|here|later|earlier|still|already|also|both|neither|so far)\b", re.IGNORECASE),
    "zh": re.compile("[也又还]|目前|现在|如今|随后|后来|之后|分别|最终"),
}
_ENOUGH = 50  # stop reading an article after finding this many sentences with values
_PER_SENTENCE = 2  # maximum number of values to ask for per sentence
# Patterns for the question words that fit each kind of value, e.g. "when" for a date.
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
_ASKING: dict[Lang, str] = {
    "en": r"\b(?:how|which|what|who|whose|when)\b",
    "zh": "多少|几[^乎何]|哪一?|谁|何时|什么",
}
_LOOSE_END = re.compile(r"\b(?:every|for|of|with|by|to|at|than|from|and|or|as|on)\?$")
# Words to repeat in the suggested question if they precede a date or year, e.g. "after" in "After which year".
_LINK = re.compile(
    r"\b(after|every|below|above|before|within|by|from|until|since|at|under|over|another)(?: the age of)? $",
    re.IGNORECASE,
)
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
)  # matches the noun after an English number
_NUMERAL = re.compile(r"^(?:[\d.,]+|[一二两三四五六七八九十百千零]+)[万亿]?(?:[一二两三四五六七八九]千)?")


def select_facts(article: Article, most: int) -> list[Fact]:
    """Return the facts in an article that questions can ask about, starting with those in self-contained sentences."""
    found = find_facts(article, _ENOUGH, per_sentence=_PER_SENTENCE)
    facts = (fact for fact in found if BLANK in fact.question and _kind(fact) in _WORDS)
    titled = (fact for fact in facts if leave_out_quotation(fact.question) != fact.question)
    return sorted(titled, key=lambda fact: not is_clear(fact, article.lang))[:most]


def is_clear(fact: Fact, lang: Lang) -> bool:
    """Check that a fact's sentence does not refer to another sentence, so that a model can ask about the fact."""
    return _UNCLEAR[lang].search("".join(_split(fact))) is None


def make_sentence_case(article: Article, fact: Fact) -> Case:
    """Create the case that prompts a model to write a question about a fact."""
    before, after = _split(fact)
    marked = f"{before}[[{fact.answer}]]{after}"
    return make_case(
        TASK, article.lang, write_prompt(article.lang, TASK, {"SENTENCE": marked}, {"WORDS": _question_words(fact)})
    )


def _question_words(fact: Fact) -> str:
    """Return the words with which a question should ask for a value, e.g. "How many tonnes" or 多少吨."""
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
    """Return the event, the model's question and the answer, or a rejection reason if the question alters the fact.

    Args:
        article: The article.
        fact: The fact that the question should be about.
        reply: The response.
    """
    blocks = read_blocks(reply, "question")
    question = blocks[0].get("question", "") if blocks else ""
    if problem := next(_find_changes(question, fact, article.lang), None):
        return problem
    return {
        "event": fact.sentence,
        "question": name_source(question, fact.question, article.lang),
        "answer": fact.answer,
    }


def _find_changes(question: str, fact: Fact, lang: Lang) -> Iterator[Problem]:
    """Yield a rejection outcome and a reason for each difference between a question and its sentence."""
    if not question.endswith(("?", "？")):
        yield "no-question", f"the generator returned no question: {question!r}"
    if not re.search(_WORDS[_kind(fact)], question, re.IGNORECASE):
        yield "type", f"{question!r} does not ask for {fact.answer!r}"
    if len(re.findall("[？?]", question)) > 1:
        yield "no-question", f"{question!r} asks for more than one value"
    if len(re.findall(_ASKING[lang], question, re.IGNORECASE)) > 1 or _LOOSE_END.search(question):
        yield "no-question", f"{question!r} is not one complete question"
    before, after = _split(fact)
    if change := find_rewording(question, Value(before, fact.answer, after, _kind(fact)), lang):
        yield "unrelated", f"{question!r} differs from the sentence {fact.sentence[:80]!r}: {change}"
    if context := _CONTEXT[lang].search(question):
        yield "vague", f"{question!r} cannot be understood on its own: {context[0]!r}"


def _kind(fact: Fact) -> str:
    found = re.match(r"(Which [a-z ]+?|Whose name) completes|.*空格处应填(.+)？$", fact.question, re.DOTALL)
    return (found[1] or found[2]) if found else ""


def _split(fact: Fact) -> tuple[str, str]:
    """Return the parts of the quoted sentence before and after the blank."""
    found = re.search(f"“([^“”]*){BLANK}([^“”]*)”", fact.question)
    return (found[1], found[2]) if found else ("", "")
