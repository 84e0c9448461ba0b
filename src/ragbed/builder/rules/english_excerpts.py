"""Write questions that name a text's title and ask for a value omitted from an English sentence that states a fact.

The title and the quotation identify the sentence, so that it may contain pronouns and need not name its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.computable import is_computable
from ragbed.builder.rules.english_blanks import MIN_CONTENT, content_words, needs_context, quotable_title
from ragbed.builder.rules.english_names import Names
from ragbed.builder.rules.english_quoted_values import Blank, find_values, is_range
from ragbed.builder.rules.english_words import NOT_STATED, UNSURE, VERB
from ragbed.builder.rules.facts import BLANK, Fact, is_balanced

_WORDS = (6, 40)  # minimum and maximum number of words in a sentence
_FORM = re.compile(r"(?!.*(?:\.\.|·))[A-Z£$€0-9‘](?:[^\[\]|:?!•…*_“”\"<>{}#=~^\\]|:(?= )(?!.*:))*[\w)%’]\.")
_SHORT_QUOTE = re.compile(r"(?<![,:] )[“\"]([^“”\",.?!]{1,30})[”\"]")  # a quoted name or term, not direct speech
_INSTRUCTION = re.compile(
    r"(?:Add|Allow|Apply|Ask|Avoid|Bake|Boil|Book|Bring|Brush|Buy|Call|Charge|Check|Choose|Clean|Click|Come"
    r"|Consult|Contact|Cook|Cover|Cut|Dial|Dig|Divide|Do|Drain|Draw|Drink|Drive|Dry|Eat|Enclose|Ensure|Enter|Fill|Find"
    r"|Follow|Fry|Get|Give|Go|Grate|Heat|Hold|Include|Insert|Install|Join|Keep|Knead|Leave|Let|Lift|Make"
    r"|Measure|Melt|Mix|Move|Never|Note|Open|Pay|Peel|Phone|Place|Plant|Plug|Pour|Preheat|Press|Provide|Push"
    r"|Put|Read|Refer|Register|Remember|Remove|Replace|Report|Restart|Return|Rinse|Roast|Select"
    r"|Send|Serve|Set|Show|Sign|Simmer|Slice|Soak|Spread|Sprinkle|Start|Stay|Stir|Stop|Store|Submit|Switch|Take"
    r"|Tell|Throw|Tighten|Try|Turn|Unplug|Use|Visit|Wait|Walk|Wash|Watch|Water|Wear|Wipe|Write)"
    r" (?!(?:was|were|is|are|on the)\b)"
)


def find_excerpts(sentence: str, names: Names) -> Iterator[Fact]:
    """Yield a question for each value in a sentence that states a fact."""
    title = quotable_title(names.title)
    text = _SHORT_QUOTE.sub(r"‘\1’", sentence)
    is_size = _WORDS[0] <= len(text.split()) <= _WORDS[1]
    if not title or not is_size or not _FORM.fullmatch(text) or not VERB.search(text):
        return
    if not is_balanced(text) or NOT_STATED.search(text) or _INSTRUCTION.match(text):
        return
    for blank in find_values(text, names):
        if fact := _ask(text, blank, names, title):
            yield fact._replace(sentence=sentence)


def _ask(sentence: str, blank: Blank, names: Names, title: str) -> Fact | None:
    answer = sentence[blank.start : blank.end]
    before, after = sentence[: blank.start], sentence[blank.end :].rstrip(".")
    clause = re.split(r"[,;](?!\d)", after)[0]
    if not before and re.match(r" [a-z]+[,;]", after):  # a fragment: "54 names; last year five plots fell vacant"
        return None
    if is_range(before, after) or UNSURE.search(f"{_last_clause(before)} {clause}"):
        return None
    if blank.is_in(f"{before} {after}") or blank.is_in(title) or len(content_words(f"{before} {after}")) < MIN_CONTENT:
        return None
    same = rf"{re.escape(before)}\S+(?: (?:million|billion|thousand|per cent|percent))?{re.escape(after)}"
    if len(re.findall(same, names.full)) > 1:
        return None  # another sentence differs only in the value
    asked = f"{blank.ask} completes this sentence from “{title}”: “{before}{BLANK}{after}”?"
    if is_computable(asked, answer, "en"):
        return None
    return Fact(asked, answer, sentence, rank=2 + needs_context(sentence))


def _last_clause(before: str) -> str:
    """Return the words from the start of a value's clause up to the value."""
    return re.split(r"[,;](?!\d)", before)[-1]
