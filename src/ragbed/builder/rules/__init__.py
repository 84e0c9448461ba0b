"""Write questions by rules instead of a model, with patterns for dates, numbers, names, quotations and definitions.

To support another language, write a function from a title and a text to facts, and add one line to WRITERS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice

from ragbed.builder.rules.chinese import find_chinese_facts
from ragbed.builder.rules.english import find_english_facts
from ragbed.builder.rules.facts import Fact
from ragbed.schema import Article, Lang

GENERATOR = "rules"  # name used in a recipe in place of a model
WRITERS: dict[Lang, Callable[[str, str], Iterator[Fact]]] = {"en": find_english_facts, "zh": find_chinese_facts}


def write_fields(article: Article, most: int) -> list[dict[str, str]]:
    """Return the fields of at most this many questions about an article, in the form that a model would return."""
    seen: set[str] = set()
    facts = []
    for fact in WRITERS[article.lang](article.title, article.text):
        if fact.question not in seen:
            seen.add(fact.question)
            facts.append(fact)
    return [{"event": fact.sentence, "question": fact.question, "answer": fact.answer} for fact in islice(facts, most)]


def join_questions(first: str, second: str, lang: Lang) -> str:
    """Return a question that asks for two answers."""
    if lang == "zh":
        return f"{first.rstrip('？?')}，以及{second}"
    start = second if second.startswith("I ") else second[0].lower() + second[1:]
    return f"{first.rstrip('?')}, and {start}"
