"""Write questions with rules instead of a model, using patterns for dates, numbers, names, quotations and definitions.

To support another language, write a function that yields facts from a title and a text, and add one line to WRITERS.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from ragbed.builder.rules.chinese import find_chinese_facts
from ragbed.builder.rules.corrections import Corrections, leave_out_sections
from ragbed.builder.rules.english import find_english_facts
from ragbed.builder.rules.facts import Fact, strip_emphasis, unify_typography, unwrap
from ragbed.builder.rules.revealed import is_revealed
from ragbed.builder.rules.whole_values import is_whole_value
from ragbed.schema import Article, Lang

GENERATOR = "rules"  # name used in a recipe in place of a model
_MAX_CHARS = 20_000  # maximum number of characters per part of a long text, about 3,000 words
_MAX_PARTS = 25  # maximum number of parts to read per text
WRITERS: dict[Lang, Callable[[str, str], Iterator[Fact]]] = {"en": find_english_facts, "zh": find_chinese_facts}


def write_fields(article: Article, most: int) -> list[dict[str, str]]:
    """Return the fields of up to `most` questions about an article, in the same form as a model's response."""
    chosen = find_facts(article, most)
    return [{"event": fact.sentence, "question": fact.question, "answer": fact.answer} for fact in chosen[:most]]


def find_facts(article: Article, enough: int, per_sentence: int = 1) -> list[Fact]:
    """Return the facts in an article, best first.

    Args:
        article: The article.
        enough: Stop reading the article when this number of sentences with facts is reached.
        per_sentence: Maximum number of facts per sentence.
    """
    facts: list[Fact] = []
    title = strip_emphasis(article.title)
    body = unwrap(article.text, article.lang)[: _MAX_PARTS * _MAX_CHARS]
    body = unify_typography(body) if article.lang == "zh" else body
    corrections = Corrections(body, article.lang)
    for text in _split(leave_out_sections(body, article.lang)):
        found = WRITERS[article.lang](title, text)
        facts += (fact for fact in found if _is_usable(fact, corrections, article.lang))
        if len({fact.sentence for fact in facts}) >= enough:
            break
    # Questions that quote a sentence are used last.
    chosen: dict[tuple[str, str], Fact] = {}
    counts: Counter[str] = Counter()
    for fact in sorted(facts, key=lambda fact: fact.rank):
        if counts[fact.sentence] < per_sentence and (fact.sentence, fact.answer) not in chosen:
            chosen[fact.sentence, fact.answer] = fact
            counts[fact.sentence] += 1
    return list(chosen.values())


def _is_usable(fact: Fact, corrections: Corrections, lang: Lang) -> bool:
    """Check that a fact's value is complete, is not corrected in the text and is not revealed by the question."""
    is_value = is_whole_value(fact.answer, fact.sentence) and not corrections.contain(fact.answer, fact.sentence)
    return is_value and not is_revealed(fact.question, fact.answer, lang)


def _split(text: str) -> Iterator[str]:
    """Split a long text into parts, to limit the cost of comparing names with all preceding sentences."""
    while len(text) > _MAX_CHARS:
        end = text.rfind("\n", _MAX_CHARS // 2, _MAX_CHARS)
        end = _MAX_CHARS if end < 0 else end
        yield text[:end]
        text = text[end:]
    yield text


def join_questions(first: str, second: str, lang: Lang) -> str:
    """Join two questions into one that asks for both answers."""
    if lang == "zh":
        return f"{first.rstrip('？?')}，以及{second}"
    start = second if second.startswith("I ") else second[0].lower() + second[1:]
    return f"{first.rstrip('?')}, and {start}"
