"""Generate questions and answers from articles and from the generator's own knowledge."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil, log
from typing import NamedTuple, TypeAlias

from msgspec import structs

from ragbed.builder.build_context import Build, Problem, RecordIndex, reject
from ragbed.builder.drafting import Drafted, draft_question
from ragbed.builder.fields import is_nothing, read_blocks, write_block
from ragbed.builder.model_requests import WITHOUT_REPLY, Request, make_case, unique_cases, write_prompt
from ragbed.builder.recipe import wanted_of
from ragbed.builder.records import Draft
from ragbed.builder.rules import GENERATOR, write_fields
from ragbed.builder.rules.facts import Fact
from ragbed.builder.sentence_questions import TASK, is_clear, make_sentence_case, read_question, select_facts
from ragbed.schema import Article, Case, Completion, Lang, Reject
from ragbed.text import squeezed, to_terms

STEP = "questions"
# Maximum number of articles to compare when looking for an article about the same event in another year. Comparing
# this many takes a few seconds and usually finds a match.
MAX_COMPARED = 5_000
_BEGINNING = 2_000  # number of leading characters used to determine an article's subject
_MAX_CHARS = 12_000  # maximum number of characters per article in a prompt; most articles state the main facts first
_SHOWN_CHARS = 100  # maximum number of characters that a rejection reason quotes from an invalid response
_MAX_BY_RULES = 8  # maximum number of questions that the rules write about an article, regardless of per_article
_MIN_BATCH = 8  # minimum number of articles per batch; smaller batches would need many rounds for the last few drafts
# Minimum share of words in common at which two questions with the same answer count as duplicates. Paraphrases share
# half of their words; questions about different facts with the same answer (e.g. a year) share less than a third.
_SAME = 0.5

# Faults that a generator can repair by rewriting the question or the answer.
_REPAIRABLE = frozenset(
    {"yes-no", "in-question", "not-in-article", "unrelated", "long-answer", "vague", "guess", "unnamed", "other-year"}
)
_REPLACEABLE = _REPAIRABLE | {"no-question", "type"}  # faults for which the rules can write a replacement question

Fields: TypeAlias = list[dict[str, str]] | Problem


class _Faulty(NamedTuple):
    """A draft that the generator can be asked to repair."""

    article: Article
    block: dict[str, str]
    reason: str


class SimilarArticles:
    """An index for finding other articles that share rare words with a question.

    Args:
        articles: Articles in one language.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self._articles = articles
        self._by_term: dict[str, list[int]] = defaultdict(list)
        for place, article in enumerate(self._articles):
            for term in set(to_terms(f"{article.title}\n{article.text[:_BEGINNING]}")):
                self._by_term[term].append(place)

    def nearest(self, draft: Draft) -> Article | None:
        """Return the most similar article, other than the question's own, that does not contain the answer, or None."""
        scores: defaultdict[int, float] = defaultdict(float)
        for term in set(to_terms(draft.question)):
            places = self._by_term.get(term, ())
            for place in places:
                scores[place] += log(1 + len(self._articles) / len(places))
        ordered = sorted(scores, key=lambda place: (-scores[place], place))
        others = (self._articles[place] for place in ordered if self._articles[place].id != draft.article)
        return next((article for article in others if not _contains_answer(article, draft)), None)


def _contains_answer(article: Article, draft: Draft) -> bool:
    text = article.text.lower()
    return any(alias.lower() in text for alias in draft.answer[0])


@dataclass
class _Language:
    """The articles in one language, in random order, and the drafts accepted so far."""

    build: Build
    lang: Lang
    index: RecordIndex[Article]
    offsets: list[int]
    drafts: dict[str, Draft] = field(default_factory=dict)
    by_answer: dict[str, list[Draft]] = field(default_factory=lambda: defaultdict(list))

    def articles(self, start: int, stop: int) -> list[Article]:
        return [self.index.read(offset) for offset in self.offsets[start:stop]]

    def enough(self, kind: str) -> int:
        return ceil(self.build.recipe.questions.surplus * wanted_of(self.build.recipe, kind, self.lang))

    def find_same(self, draft: Draft) -> Draft | None:
        """Return an accepted draft with the same words, or with the same answer and mostly the same words, or None."""
        if draft.id in self.drafts:
            return self.drafts[draft.id]
        terms = set(to_terms(draft.question))
        for other in self.by_answer.get(squeezed(draft.answer[0][0]), ()):
            others = set(to_terms(other.question))
            if len(terms & others) >= _SAME * len(terms | others):
                return other
        return None

    def accept(self, drafted: Drafted, name: str) -> Iterator[Draft | Reject]:
        for alias in drafted.dropped:
            yield reject(STEP, name, "alias", f"{alias!r} is not clearly another spelling of the answer")
        draft = drafted.draft
        if draft is None:
            yield reject(STEP, name, drafted.outcome, drafted.reason)
        elif same := self.find_same(draft):
            yield reject(STEP, name, "duplicate", f"{draft.question!r} repeats {same.question!r}")
        else:
            self.drafts[draft.id] = draft
            for alias in draft.answer[0]:
                self.by_answer[squeezed(alias)].append(draft)
            yield draft


def make_questions(build: Build) -> Iterator[Draft | Reject]:
    """Yield drafts from articles in random order until there are enough for each language."""
    with RecordIndex(build, "articles", Article) as index:
        order = sorted((_rank(build, article.id), article.lang, offset) for offset, article in index.scan())
        for lang in build.recipe.langs:
            language = _Language(build, lang, index, [offset for _, own, offset in order if own == lang])
            yield from _from_articles(language)
            yield from _from_siblings(language)
            # Without a web search, there are no documents for questions from the generator's own knowledge, so
            # counterfactual items can use only base questions that the generator can answer.
            if wanted_of(build.recipe, "counterfactual", lang) and asks_outside(build):
                yield from _from_knowledge(language)


def asks_outside(build: Build) -> bool:
    """Check whether questions can also draw on the generator's own knowledge, which requires a model and web search."""
    return build.recipe.search.engine != "local" and build.recipe.generator != GENERATOR


def drafts_wanted(build: Build, lang: Lang) -> int:
    """Return the number of drafts needed in a language."""
    counts = {kind: wanted_of(build.recipe, kind, lang) for kind in ("base", "integration", "counterfactual")}
    most = max(counts["base"], 2 * counts["integration"], counts["counterfactual"])
    return ceil(build.recipe.questions.surplus * most)


def _rank(build: Build, name: str) -> bytes:
    """Return an article's pseudo-random sort key, which does not change when articles are added."""
    return hashlib.sha256(f"{build.recipe.seed}\0{name}".encode()).digest()


def _from_articles(language: _Language) -> Iterator[Draft | Reject]:
    build = language.build
    enough, done = drafts_wanted(build, language.lang), 0
    while done < len(language.offsets) and len(language.drafts) < enough:
        missing = ceil((enough - len(language.drafts)) / build.recipe.questions.per_article)
        batch = language.articles(done, done + max(missing, _MIN_BATCH))
        done += len(batch)
        if build.recipe.generator == GENERATOR:
            for article in batch:
                blocks = write_fields(article, _MAX_BY_RULES)
                yield from _read_blocks(language, article, blocks)
            continue
        if build.recipe.questions.prompt == TASK:
            yield from _from_sentences(language, batch)
            continue
        cases = {article.id: make_case(STEP, article.lang, _prompt(build, article)) for article in batch}
        responses = ask_for_fields(build, STEP, list(cases.values()))
        faulty: list[_Faulty] = []
        for article in batch:
            yield from _read_blocks(language, article, responses[cases[article.id].case], faulty)
        yield from _repair(language, faulty, cases)


def _from_sentences(language: _Language, batch: Sequence[Article]) -> Iterator[Draft | Reject]:
    """Have the generator write a question about each value that the rules select, and retry unusable questions once."""
    build = language.build
    facts = [(article, fact) for article in batch for fact in select_facts(article, build.recipe.questions.per_article)]
    cases = {at: make_sentence_case(*fact) for at, fact in enumerate(facts) if is_clear(fact[1], language.lang)}
    responses = build.ask(Request(TASK, build.recipe.generator, unique_cases(cases.values()))) if cases else {}
    first = {at: _read_completion(*facts[at], responses[case.case][0]) for at, case in cases.items()}
    repairs = {
        at: make_case(
            "repair",
            language.lang,
            cases[at].messages[0].content,
            responses[cases[at].case][0].reply or "",
            write_prompt(language.lang, "repair", {}, {"REASON": drafted.reason}),
        )
        for at, drafted in first.items()
        if drafted.outcome in _REPLACEABLE
    }
    again = build.ask(Request("repair", build.recipe.generator, unique_cases(repairs.values()))) if repairs else {}
    last = first | {at: _read_completion(*facts[at], again[case.case][0]) for at, case in repairs.items()}
    quoted = Drafted(None, "vague", "the sentence refers to other sentences, so it is only quoted")
    yield from _accept_or_replace(language, facts, [last.get(at, quoted) for at in range(len(facts))])


def _read_completion(article: Article, fact: Fact, completion: Completion) -> Drafted:
    """Create a draft from a model's question about a sentence, or return the reason for rejecting it."""
    if completion.outcome != "ok":
        return Drafted(None, completion.outcome, completion.error or WITHOUT_REPLY[completion.outcome])
    fields = read_question(article, fact, completion.reply or "")
    return draft_question(fields, article.lang, article) if isinstance(fields, dict) else Drafted(None, *fields)


def _accept_or_replace(
    language: _Language, facts: Sequence[tuple[Article, Fact]], written: Sequence[Drafted]
) -> Iterator[Draft | Reject]:
    """Yield the generator's drafts, and a rule-based draft for each sentence without a usable generated draft."""
    used = set()
    for (article, fact), drafted in zip(facts, written, strict=True):
        for found in language.accept(drafted, article.url):
            if isinstance(found, Draft):
                used.add((article.id, fact.sentence))
            yield found
    for (article, fact), drafted in zip(facts, written, strict=True):
        if drafted.outcome in _REPLACEABLE and (article.id, fact.sentence) not in used:
            fields = {"event": fact.sentence, "question": fact.question, "answer": fact.answer}
            replaced = draft_question(fields, article.lang, article)
            if replaced.draft:
                used.add((article.id, fact.sentence))
                replaced = replaced._replace(draft=structs.replace(replaced.draft, by_rules=True))
            yield from language.accept(replaced, article.url)


def _repair(language: _Language, faulty: Sequence[_Faulty], cases: dict[str, Case]) -> Iterator[Draft | Reject]:
    """Ask the generator once to repair each rejected draft, giving it the reason for the rejection."""
    repairs = []
    for article, block, reason in faulty:
        first, draft = cases[article.id].messages[0].content, write_block(block, article.lang)
        turn = write_prompt(article.lang, "repair", {}, {"REASON": reason})
        repairs.append((article, make_case("repair", article.lang, first, draft, turn)))
    responses = ask_for_fields(language.build, "repair", [case for _, case in repairs]) if repairs else {}
    for article, case in repairs:
        yield from _read_blocks(language, article, responses[case.case])


def _read_blocks(
    language: _Language, article: Article, blocks: Fields, faulty: list[_Faulty] | None = None
) -> Iterator[Draft | Reject]:
    """Yield an article's accepted drafts and its rejections, and add repairable drafts to `faulty`."""
    if not isinstance(blocks, list):
        yield reject(STEP, article.url, *blocks)
        return
    if all("question" not in block for block in blocks):
        yield reject(STEP, article.url, "no-event", "the generator found no fact to ask about")
    for block in blocks:
        if "question" in block or not is_nothing(block.get("event", "")):
            drafted = draft_question(block, article.lang, article)
            if faulty is not None and drafted.outcome in _REPAIRABLE:
                faulty.append(_Faulty(article, block, drafted.reason))
            yield from language.accept(drafted, article.url)


def _from_siblings(language: _Language) -> Iterator[Draft | Reject]:
    """Yield questions from articles similar to those of existing drafts, to obtain pairs that can be combined."""
    enough = language.enough("integration")
    if not enough or language.build.recipe.generator == GENERATOR:
        return
    near = SimilarArticles(language.articles(0, MAX_COMPARED))
    pairs = [(draft, near.nearest(draft)) for draft in list(language.drafts.values())[:enough]]
    cases = {
        draft.id: make_case("siblings", draft.lang, _sibling_prompt(draft, article))
        for draft, article in pairs
        if article
    }
    responses = ask_for_fields(language.build, "siblings", list(cases.values())) if cases else {}
    for draft, article in pairs:
        name = f"like {draft.question}"
        if article is None:
            yield reject(STEP, name, "no-sibling", "no other article has any words in common with this one")
            continue
        blocks = responses[cases[draft.id].case]
        if not isinstance(blocks, list):
            yield reject(STEP, name, *blocks)
        elif "question" not in blocks[0]:
            yield reject(STEP, name, "no-sibling", f"the generator found no similar question in {article.url}")
        else:
            yield from language.accept(draft_question(blocks[0], draft.lang, article), name)


def _sibling_prompt(draft: Draft, article: Article) -> str:
    return write_prompt(draft.lang, "siblings", {"QUERY": draft.question, **_excerpt(article)})


def _from_knowledge(language: _Language) -> Iterator[Draft | Reject]:
    lang, models = language.lang, list(language.drafts.values())[: language.enough("counterfactual")]
    cases = [make_case("known", lang, write_prompt(lang, "known", {"QUERY": draft.question})) for draft in models]
    responses = ask_for_fields(language.build, "known", cases)
    for draft, case in zip(models, cases, strict=True):
        blocks, name = responses[case.case], f"like {draft.question}"
        if isinstance(blocks, list):
            yield from language.accept(draft_question(blocks[0], lang, None), name)
        else:
            yield reject(STEP, name, *blocks)


def _prompt(build: Build, article: Article) -> str:
    about = build.recipe.about.strip()
    label = {"en": "\nThe questions should be about: ", "zh": "\n问题应当围绕："}[article.lang]
    own = {"COUNT": str(build.recipe.questions.per_article), "ABOUT": f"{label}{about}\n" if about else ""}
    return write_prompt(article.lang, build.recipe.questions.prompt, _excerpt(article), own)


def _excerpt(article: Article) -> dict[str, str]:
    return {"TITLE": f"{article.title}\n{article.date or ''}".strip(), "TEXT": article.text[:_MAX_CHARS]}


def ask_for_fields(build: Build, task: str, cases: Sequence[Case], alone: str = "") -> dict[str, Fields]:
    """Return the blocks of fields in each case's response, or the outcome and the reason if the case failed.

    If a response contains no fields, the case is retried once.

    Args:
        build: The build.
        task: Name of the task.
        cases: The cases for which to call the model.
        alone: See `read_blocks`.
    """

    def ask(requested: Sequence[Case]) -> dict[str, Completion]:
        request = Request(task, build.recipe.generator, requested, max_tokens=build.recipe.questions.max_tokens)
        return {name: completions[0] for name, completions in build.ask(request).items()}

    first = ask(cases)
    retries = {
        case.case: make_case(
            task,
            case.lang,
            case.messages[0].content,
            first[case.case].reply or "",
            write_prompt(case.lang, "again", {}),
        )
        for case in cases
        if first[case.case].outcome == "ok" and not read_blocks(first[case.case].reply or "", alone)
    }
    second = ask(list(retries.values())) if retries else {}
    final = first | {name: second[retry.case] for name, retry in retries.items()}
    return {case.case: _fields_of(final[case.case], alone) for case in cases}


def _fields_of(completion: Completion, alone: str) -> Fields:
    if completion.outcome != "ok":
        return completion.outcome, completion.error or WITHOUT_REPLY[completion.outcome]
    reply = completion.reply or ""
    shown = " ".join(reply.split())[:_SHOWN_CHARS]
    return read_blocks(reply, alone) or ("prose", f"two responses lacked the requested fields; the last was {shown!r}")
