"""Have a model write questions about articles, and reject those that break a rule.

For each section of an article, the model gets the title, the headings and the text. It returns questions, the answers
as they stand in the text, and the sentences that state them.
"""

from __future__ import annotations

import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import ceil
from typing import NamedTuple, TypeAlias

from ragbed.builder.build_context import Build, Draft, Problem, RecordIndex, reject
from ragbed.builder.model_calls import WITHOUT_REPLY, Request, make_case, unique_cases, write_prompt
from ragbed.builder.passages import split_sections
from ragbed.builder.question_rules import find_faults, fold_words, form_in, locate_quote
from ragbed.builder.recipe import Recipe
from ragbed.builder.responses import SCHEMA, read_blocks
from ragbed.models.providers.dialects import enforces_schema
from ragbed.schema import Article, Case, Completion, Lang, Question, Reject
from ragbed.text import split_sentences, squeezed, to_terms

STEP = "questions"
# Maximum number of characters of a section in a prompt. In longer texts, small models overlook most facts; a longer
# section is cut at the ends of sentences.
_MAX_CHARS = {"en": 4_000, "zh": 1_600}
_SHOWN_CHARS = 100  # maximum number of characters that a rejection reason quotes from an invalid response
_MIN_BATCH = 8  # minimum number of articles per batch; smaller batches would need many rounds for the last few drafts
# Minimum share of words in common at which two questions with the same answer count as duplicates. Paraphrases share
# half of their words; questions about different facts with the same answer (e.g. a year) share less than a third.
_SAME = 0.5
_REMARK = re.compile(r"(?<=[?？])\s*[(（].*", re.DOTALL)  # a remark that small models add after a question

Fields: TypeAlias = list[dict[str, str]] | Problem


class _Part(NamedTuple):
    """A section of an article, or a piece of a long section, that is sent to the generator."""

    article: Article
    context: str
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.article.text[self.start : self.end]


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

    def accept(self, drafted: Draft | Problem, what: str) -> Draft | Reject:
        """Return the draft, or a record of its rejection if it breaks a rule or repeats an accepted draft."""
        if not isinstance(drafted, Draft):
            return reject(STEP, what, *drafted)
        if same := self.find_same(drafted):
            return reject(STEP, what, "duplicate", f"{drafted.question!r} repeats {same.question!r}")
        self.drafts[drafted.id] = drafted
        self.by_answer[squeezed(drafted.answer[0][0])].append(drafted)
        return drafted


def make_questions(build: Build) -> Iterator[Draft | Reject]:
    """Yield drafts from articles in random order until there are enough for each language."""
    with RecordIndex(build, "articles", Article) as index:
        # An article's pseudo-random sort key does not change when articles are added.
        keys = ((f"{build.recipe.seed}\0{article.id}", article.lang, offset) for offset, article in index.scan())
        order = sorted((hashlib.sha256(key.encode()).digest(), lang, offset) for key, lang, offset in keys)
        for lang in build.recipe.langs:
            offsets = [offset for _, own, offset in order if own == lang][: build.recipe.questions.articles]
            yield from _from_articles(_Language(build, lang, index, offsets))


def drafts_wanted(recipe: Recipe) -> int:
    """Return the number of drafts needed per language."""
    wanted = recipe.wanted
    return ceil(recipe.questions.surplus * max(wanted.base, 2 * wanted.integration, wanted.counterfactual))


def _from_articles(language: _Language) -> Iterator[Draft | Reject]:
    enough, done = drafts_wanted(language.build.recipe), 0
    while done < len(language.offsets) and len(language.drafts) < enough:
        missing = ceil((enough - len(language.drafts)) / language.build.recipe.questions.per_section)
        batch = language.articles(done, done + max(missing, _MIN_BATCH))
        done += len(batch)
        parts = [part for article in batch for part in _split_parts(article)]
        cases = [make_case(STEP, language.lang, _prompt(language.build, part)) for part in parts]
        responses = ask_for_fields(language.build, STEP, unique_cases(cases))
        for part, case in zip(parts, cases, strict=True):
            yield from _read_part(language, part, responses[case.case])


def _split_parts(article: Article) -> Iterator[_Part]:
    """Yield the sections of an article; a section that is too long for one prompt is cut between sentences."""
    most = _MAX_CHARS[article.lang]
    for section in split_sections(article):
        start = section.start
        for _, end in split_sentences(article.text[section.start : section.end]):
            if section.start + end - start > most:
                yield _Part(article, section.header, start, section.start + end)
                start = section.start + end
        if start < section.end:
            yield _Part(article, section.header, start, section.end)


def _read_part(language: _Language, part: _Part, blocks: Fields) -> Iterator[Draft | Reject]:
    """Yield the accepted drafts about a section, and its rejections."""
    url = part.article.url
    if not isinstance(blocks, list):
        yield reject(STEP, url, *blocks)
        return
    if not blocks:
        yield reject(STEP, url, "no-fact", "the generator found no fact to ask about")
    for block in blocks[: language.build.recipe.questions.per_section]:
        what = block.get("question") or url
        yield language.accept(draft_question(block, part.article, (part.start, part.end), part.context), what)


def draft_question(block: dict[str, str], article: Article, section: tuple[int, int], context: str) -> Draft | Problem:
    """Create a draft from a block of fields, or return the reason why it is rejected.

    Args:
        block: Fields from the generator's response.
        article: The article that the question is about.
        section: Character offsets of the section in the article's text.
        context: Title and headings of the section.
    """
    lang, text = article.lang, article.text[slice(*section)]
    question = _REMARK.sub("", block.get("question", "").strip())
    answer = block.get("answer", "").strip().strip('。.,，;；“”"')
    quote = block.get("sentence", "").strip()
    place = locate_quote(text, quote) if quote else None
    if problem := next(find_faults(question, answer, lang), None):
        return problem
    if place is None:
        return "not-in-text", f"the text does not contain the quoted sentence {quote[:80]!r}"
    sentence = text[slice(*place)].strip()
    stated = form_in(Question(question=question, lang=lang, answer=((answer,),)), sentence)
    if not stated:
        return "not-in-sentence", f"the quoted sentence does not contain {answer!r}: {sentence[:80]!r}"
    if stated != answer and (problem := next(find_faults(question, stated, lang), None)):
        return problem
    return Draft(
        id=hashlib.sha256(f"{lang}\0{fold_words(question, lang)}".encode()).hexdigest()[:12],
        question=question,
        lang=lang,
        answer=((stated,) if squeezed(stated) == squeezed(answer) else (stated, answer),),
        article=article.id,
        context=context,
        section=section,
        sentence=sentence,
        date=article.date,
    )


def _prompt(build: Build, part: _Part) -> str:
    about = build.recipe.about.strip()
    label = {"en": "\nThe questions should be about: ", "zh": "\n问题应当围绕："}[part.article.lang]
    # More questions than sentences would repeat facts.
    count = min(build.recipe.questions.per_section, len(list(split_sentences(part.text))))
    own = {"COUNT": str(count), "ABOUT": f"{label}{about}\n" if about else ""}
    title = f"{part.context}\n{part.article.date or ''}".strip()
    form = "json" if enforces_schema(build.recipe.generator) else "lines"
    return write_prompt(part.article.lang, "questions", {"TITLE": title, "TEXT": part.text.strip()}, own, form)


def ask_for_fields(build: Build, task: str, cases: Sequence[Case], alone: str = "") -> dict[str, Fields]:
    """Return the blocks of fields in each case's response, or the outcome and the reason if the case failed.

    Args:
        build: The build.
        task: Name of the task.
        cases: The cases for which to call the model.
        alone: See `read_blocks`.
    """
    recipe = build.recipe
    schema = SCHEMA if task == STEP and enforces_schema(recipe.generator) else None
    request = Request(task, recipe.generator, cases, max_tokens=recipe.questions.max_tokens, schema=schema)
    completions = build.ask(request) if cases else {}
    return {name: _fields_of(completion, alone) for name, completion in completions.items()}


def _fields_of(completion: Completion, alone: str) -> Fields:
    reply = completion.reply or ""
    blocks = read_blocks(reply, alone) if completion.outcome in ("ok", "truncated") else None
    if blocks:  # the complete objects of a truncated response are usable
        return blocks
    if completion.outcome != "ok":
        return completion.outcome, completion.error or WITHOUT_REPLY[completion.outcome]
    shown = " ".join(reply.split())[:_SHOWN_CHARS]
    if blocks is None:
        return "unreadable", f"the response lacks the requested fields: {shown!r}"
    return []
