"""Ask for a value left out of any English sentence that states a fact, with the title of its text in the question.

The title and the quotation identify the sentence, so that it may contain pronouns and need not name its subject.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ragbed.builder.rules.english_blanks import (
    MIN_CONTENT,
    Blank,
    content_words,
    find_values,
    is_range,
    needs_context,
    quotable_title,
)
from ragbed.builder.rules.english_names import Names
from ragbed.builder.rules.english_words import UNSURE, VERB
from ragbed.builder.rules.facts import BLANK, Fact

_WORDS = (6, 40)  # minimum and maximum number of words of a sentence
_FORM = re.compile(r"[A-Z£$€0-9][^\[\]|:?!•…*_“”\"<>{}#=~^\\]*[a-z0-9)%]\.")
# Plans, guesses, conditions, opinions, instructions and what somebody said, anywhere in the sentence.
_NOT_STATED = re.compile(
    r"\b(?:will|would|should|shall|must|may|might|could|can|cannot|plans?|planned|planning|propos\w+|expect\w*"
    r"|forecast\w*|predict\w*|hop(?:es?|ed|ing)|wants?|wanted|intends?|intended|aim(?:s|ed|ing)?|target\w*|goal"
    r"|due|scheduled|set to|is to|are to|was to|were to|if|unless|whether|provided|in case|probably|perhaps|possibly"
    r"|likely|seems?|seemed|appears?|believe\w*|think|thinks|thought|feels?|felt|guess\w*|estimat\w+|reckon\w*"
    r"|said|says?|saying|told|tells?|argue[sd]?|claim\w*|warn\w*|call(?:s|ed) (?:for|the|it)|complain\w*|suggest\w*"
    r"|recommend\w*|promis\w+|according|alleg\w+|reportedly|rumou?r\w*|legend|supposed\w*|put (?:the|it) \w+ at"
    r"|you|your|yours|please|do not|don[’']t|let|eg|ie|next (?:year|month|week|spring|summer|autumn|winter|season)"
    r"|tomorrow|would-be|asked (?:for|why|whether)|demand\w*)\b",
    re.IGNORECASE,
)
_INSTRUCTION = re.compile(
    r"(?:Add|Allow|Apply|Ask|Avoid|Bake|Book|Boil|Bring|Buy|Call|Charge|Check|Choose|Clean|Come|Contact|Cook|Cover|Cut"
    r"|Dial|Do|Draw|Drink|Drive|Dry|Eat|Enter|Fill|Find|Follow|Get|Give|Go|Heat|Hold|Insert|Join|Keep|Leave|Let|Lift"
    r"|Make|Measure|Mix|Move|Never|Note|Open|Pay|Phone|Place|Plant|Plug|Pour|Press|Push|Put|Read|Register|Remember"
    r"|Remove|Replace|Report|Return|Rinse|Send|Set|Show|Sign|Spread|Start|Stay|Stir|Stop|Store|Switch|Take|Tell|Throw"
    r"|Tighten|Try|Turn|Unplug|Use|Visit|Wait|Walk|Wash|Watch|Water|Wear|Wipe|Write) (?!(?:was|were|is|are|on the)\b)"
)


def find_excerpts(sentence: str, names: Names) -> Iterator[Fact]:
    """Yield a question for each value of a sentence that states a fact."""
    title = quotable_title(names.title)
    is_size = _WORDS[0] <= len(sentence.split()) <= _WORDS[1]
    if not title or not is_size or not _FORM.fullmatch(sentence) or not VERB.search(sentence):
        return
    if _NOT_STATED.search(sentence) or _INSTRUCTION.match(sentence):
        return
    for blank in find_values(sentence, names):
        if fact := _ask(sentence, blank, names, title):
            yield fact


def _ask(sentence: str, blank: Blank, names: Names, title: str) -> Fact | None:
    answer = sentence[blank.start : blank.end]
    before, after = sentence[: blank.start], sentence[blank.end :].rstrip(".")
    clause = re.split(r"[,;](?!\d)", after)[0]
    if is_range(before, after) or UNSURE.search(f"{_last_clause(before)} {clause}"):
        return None
    if blank.is_in(f"{before} {after}") or blank.is_in(title) or len(content_words(f"{before} {after}")) < MIN_CONTENT:
        return None
    same = rf"{re.escape(before)}\S+(?: (?:million|billion|thousand|per cent|percent))?{re.escape(after)}"
    if len(re.findall(same, names.full)) > 1:
        return None  # another sentence differs only in the value
    asked = f"{blank.ask} completes this sentence from “{title}”: “{before}{BLANK}{after}”?"
    return Fact(asked, answer, sentence, rank=2 + needs_context(sentence))


def _last_clause(before: str) -> str:
    """Return the words before a value from the start of its clause."""
    return re.split(r"[,;](?!\d)", before)[-1]
