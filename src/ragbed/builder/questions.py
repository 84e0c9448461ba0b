"""Generate questions with answers from articles, and questions that the generator already knows."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, log

from ragbed.builder.build_context import Build, reject
from ragbed.builder.drafting import Drafted, draft_question
from ragbed.builder.fields import is_nothing, read_blocks
from ragbed.builder.model_requests import Request, make_case, write_prompt
from ragbed.builder.recipe import wanted_of
from ragbed.builder.record_index import RecordIndex, RecordSubset
from ragbed.builder.records import Draft
from ragbed.schema import Article, Case, Completion, Lang, Reject
from ragbed.text import squeezed, to_terms

LOOKED_AT = 5_000
"""Articles that are worth looking at: a few seconds of work, and enough to have another year's of most events."""
_BEGINNING = 2_000
"""Characters of an article that tell what it is about."""


class SimilarArticles:
    """Finds, for a question, the other article that shares its rarest words.

    Args:
        articles: Of one language.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self._articles = articles
        self._by_term: dict[str, list[int]] = {}
        for place, article in enumerate(self._articles):
            for term in set(to_terms(f"{article.title}\n{article.text[:_BEGINNING]}")):
                self._by_term.setdefault(term, []).append(place)

    def nearest(self, draft: Draft) -> Article | None:
        """The nearest article but the question's own, and those that give its answer; None if none shares a word."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in set(to_terms(draft.question)):
            places = self._by_term.get(term, ())
            for place in places:
                scores[place] += log(1 + len(self._articles) / len(places))
        for place, _ in sorted(scores.items(), key=lambda found: (-found[1], found[0])):
            article = self._articles[place]
            if article.id != draft.article and not _gives(article, draft):
                return article
        return None


def _gives(article: Article, draft: Draft) -> bool:
    """Whether an article tells the same news again."""
    text = article.text.lower()
    return any(alias.lower() in text for alias in draft.answer[0])


STEP = "questions"
_MOST_CHARS = 12_000
"""Of an article that a generator is shown: 3,000 words. The news is told in the first of them."""

_SHOWN_CHARS = 100
"""Of a reply that will not do, in the reason."""

_BATCH = 8
"""Articles that are asked about together, at the least: the last few drafts would else take a round each."""

_SAME = 0.5
"""Share of common words from which two questions with one answer are one: paraphrases of a fact share half of them,
questions about two facts that happen to have the same answer (a year) hardly a third."""


@dataclass
class _Taken:
    """What was accepted so far, so that nothing is asked twice."""

    drafts: list[Draft] = field(default_factory=list)
    by_id: dict[str, Draft] = field(default_factory=dict)
    by_answer: dict[str, list[Draft]] = field(default_factory=dict)

    def find_like(self, draft: Draft) -> Draft | None:
        """A draft that asks the same: the same words, or mostly the same for the same answer."""
        if draft.id in self.by_id:
            return self.by_id[draft.id]
        terms = set(to_terms(draft.question))
        for other in self.by_answer.get(squeezed(draft.answer[0][0]), ()):
            others = set(to_terms(other.question))
            if len(terms & others) >= _SAME * len(terms | others):
                return other
        return None

    def add(self, draft: Draft) -> None:
        """Takes a draft in, findable by each spelling of its answer."""
        self.drafts.append(draft)
        self.by_id[draft.id] = draft
        for alias in draft.answer[0]:
            self.by_answer.setdefault(squeezed(alias), []).append(draft)


def make_questions(build: Build) -> Iterator[Draft | Reject]:
    """The step: articles in a drawn order, until there are enough drafts or no more articles, for each language."""
    with RecordIndex(build, "articles", Article) as shelf:
        lots = sorted((_lot(build, article.id), article.lang, place) for place, article in shelf.look_over())
        for lang in build.recipe.langs:
            own = RecordSubset(shelf, [place for _, one, place in lots if one == lang])
            taken = _Taken()
            yield from _from_articles(build, lang, own, taken)
            yield from _from_siblings(build, lang, own, taken)
            if wanted_of(build.recipe, "counterfactual", lang) and build.recipe.search.engine != "local":
                # One's own documents say nothing about what the generator happens to know: there the base questions
                # that it can answer without them are all there is.
                yield from _from_knowledge(build, lang, taken)


def drafts_wanted(build: Build, lang: Lang) -> int:
    """How many drafts of a language are enough."""
    base, integration, counterfactual = (
        wanted_of(build.recipe, kind, lang) for kind in ("base", "integration", "counterfactual")
    )
    return ceil(build.recipe.questions.surplus * max(base, 2 * integration, counterfactual))


def _lot(build: Build, name: str) -> bytes:
    """An order that favours no source and does not change when articles are added."""
    return hashlib.sha256(f"{build.recipe.seed}\0{name}".encode()).digest()


def _from_articles(
    build: Build, lang: Lang, articles: RecordSubset[Article], taken: _Taken
) -> Iterator[Draft | Reject]:
    enough, done = drafts_wanted(build, lang), 0
    while done < len(articles) and len(taken.drafts) < enough:
        missing = ceil((enough - len(taken.drafts)) / build.recipe.questions.per_article)
        batch = articles[done : done + max(missing, _BATCH)]
        done += len(batch)
        yield from _ask_batch(build, batch, taken)


def _ask_batch(build: Build, articles: Sequence[Article], taken: _Taken) -> Iterator[Draft | Reject]:
    cases = {article.id: make_case(STEP, article.lang, _prompt(build, article)) for article in articles}
    replies = ask_for_fields(build, STEP, list(cases.values()))
    for article in articles:
        blocks = replies[cases[article.id].case]
        if isinstance(blocks, list):
            if all("question" not in block for block in blocks):
                yield reject(STEP, article.url, "no-event", "the generator finds nothing that anybody would look up")
            for block in blocks:
                if "question" in block or not is_nothing(block.get("event", "")):
                    yield from _take(draft_question(block, article.lang, article), article.url, taken)
        else:
            yield reject(STEP, article.url, *blocks)


def _from_siblings(
    build: Build, lang: Lang, articles: RecordSubset[Article], taken: _Taken
) -> Iterator[Draft | Reject]:
    """A question like each of the first ones, from another article, so that there are pairs to be asked as one."""
    enough = ceil(build.recipe.questions.surplus * wanted_of(build.recipe, "integration", lang))
    near = SimilarArticles(articles[:LOOKED_AT]) if enough else None
    pairs = [(draft, near.nearest(draft)) for draft in taken.drafts[:enough]] if near else []
    cases = {
        draft.id: make_case("siblings", draft.lang, _sibling_prompt(draft, article))
        for draft, article in pairs
        if article
    }
    replies = ask_for_fields(build, "siblings", list(cases.values())) if cases else {}
    for draft, article in pairs:
        what = f"like {draft.question}"
        if article is None:
            yield reject(STEP, what, "no-sibling", "no other article shares a word with it")
            continue
        blocks = replies[cases[draft.id].case]
        if not isinstance(blocks, list):
            yield reject(STEP, what, *blocks)
        elif "question" not in (block := blocks[0]):
            yield reject(STEP, what, "no-sibling", f"the generator finds no such question in {article.url}")
        else:
            yield from _take(draft_question(block, draft.lang, article), what, taken)


def _sibling_prompt(draft: Draft, article: Article) -> str:
    return write_prompt(draft.lang, "siblings", {"QUERY": draft.question, **_shown(article)})


def _from_knowledge(build: Build, lang: Lang, taken: _Taken) -> Iterator[Draft | Reject]:
    enough = ceil(build.recipe.questions.surplus * wanted_of(build.recipe, "counterfactual", lang))
    cases = {
        draft.id: make_case("known", lang, write_prompt(lang, "known", {"QUERY": draft.question}))
        for draft in taken.drafts[:enough]
    }
    replies = ask_for_fields(build, "known", list(cases.values()))
    for model_of in taken.drafts[:enough]:
        blocks, what = replies[cases[model_of.id].case], f"like {model_of.question}"
        if isinstance(blocks, list):
            yield from _take(draft_question(blocks[0], lang, None), what, taken)
        else:
            yield reject(STEP, what, *blocks)


def _take(drafted: Drafted, what: str, taken: _Taken) -> Iterator[Draft | Reject]:
    for alias in drafted.dropped:
        yield reject(STEP, what, "alias", f"{alias!r} is not clearly another spelling of the answer")
    if drafted.draft is None:
        yield reject(STEP, what, drafted.outcome, drafted.reason)
    elif like := taken.find_like(drafted.draft):
        yield reject(STEP, what, "duplicate", f"{drafted.draft.question!r} was asked before: {like.question!r}")
    else:
        taken.add(drafted.draft)
        yield drafted.draft


def _prompt(build: Build, article: Article) -> str:
    about = build.recipe.about.strip()
    label = {"en": "\nThe questions should be about: ", "zh": "\n问题应当围绕："}[article.lang]
    return write_prompt(
        article.lang,
        "questions",
        _shown(article),
        {"COUNT": str(build.recipe.questions.per_article), "ABOUT": f"{label}{about}\n" if about else ""},
    )


def _shown(article: Article) -> dict[str, str]:
    """What a generator is shown of an article."""
    return {"TITLE": f"{article.title}\n{article.date or ''}".strip(), "TEXT": article.text[:_MOST_CHARS]}


def ask_for_fields(
    build: Build, task: str, cases: Sequence[Case], alone: str = ""
) -> dict[str, list[dict[str, str]] | tuple[str, str]]:
    """The blocks of fields of every case; who answers in prose is asked once more. Else outcome and reason.

    Args:
        build: The build.
        task: What the calls are for.
        cases: What is asked.
        alone: See `read_blocks`.
    """
    ask = build.recipe.generator, build.recipe.questions.max_tokens
    first = build.ask(Request(task, ask[0], cases, max_tokens=ask[1]))
    prose = [case for case in cases if _is_prose(first[case.case][0], alone)]
    again = {
        case.case: make_case(
            task,
            case.lang,
            case.messages[0].content,
            first[case.case][0].reply or "",
            write_prompt(case.lang, "again", {}),
        )
        for case in prose
    }
    second = build.ask(Request(task, ask[0], list(again.values()), max_tokens=ask[1])) if again else {}
    found: dict[str, list[dict[str, str]] | tuple[str, str]] = {}
    for case in cases:
        completion = second[again[case.case].case][0] if case.case in again else first[case.case][0]
        found[case.case] = _fields_of(completion, alone)
    return found


def _is_prose(completion: Completion, alone: str) -> bool:
    return completion.outcome == "ok" and not read_blocks(completion.reply or "", alone)


def _fields_of(completion: Completion, alone: str) -> list[dict[str, str]] | tuple[str, str]:
    if completion.outcome != "ok":
        return completion.outcome, completion.error or "the generator's provider declined"
    reply = completion.reply or ""
    shown = " ".join(reply.split())[:_SHOWN_CHARS]
    return read_blocks(reply, alone) or ("prose", f"the generator wrote no fields, twice; at last: {shown!r}")
