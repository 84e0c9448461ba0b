"""Find the passages of a folder of documents that state the answers to questions, and write items from them.

A passage is evidence if it contains an accepted form of the answer and, of all passages that do, shares most with the
question. A question without such a passage is listed with the reason instead of getting a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec import structs

from ragbed.data.evidence import DocumentNames, SourceChunk, SourceDocument, find_sentence, fold, replace_answer, states
from ragbed.data.questions_file import QuestionRow
from ragbed.errors import nearest_name
from ragbed.retrieval.passage_index import LexicalIndex, best_places
from ragbed.schema import Item, Lang, Passage, Stance
from ragbed.text import guess_lang, mentions_answer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DISTRACTORS = 12  # maximum number of related passages per item; the default conditions use up to 10
# A passage is accepted as evidence if its score is at least this share of the best score of any passage, also of those
# without the answer. If the best passages on a question do not contain the answer, it is probably written differently
# there, and its occurrence elsewhere is a coincidence.
_MIN_SHARE = 0.5
_ALSO = 0.85  # minimum share of the best evidence's score for further passages that state the answer


class NotFound(NamedTuple):
    """A question whose evidence was not found, with the reason."""

    line: int
    question: str
    reason: str


class _Place(NamedTuple):
    document: SourceDocument
    chunk: SourceChunk
    folded: str


class EvidenceFinder:
    """Finds the evidence for questions in documents.

    Args:
        documents: The documents.
    """

    def __init__(self, documents: Sequence[SourceDocument]) -> None:
        self._names = DocumentNames(document.name for document in documents)
        self._places = [
            _Place(document, chunk, fold(chunk.text)) for document in documents for chunk in document.chunks
        ]
        # The title, the headings and the name of the file count, too.
        self._index = LexicalIndex(
            " ".join((place.folded, fold(place.document.title), *map(fold, place.chunk.headings), place.document.name))
            for place in self._places
        )

    def find(self, row: QuestionRow, lang: Lang) -> Item | str:
        """Return the item for a question, or the reason why its evidence was not found."""
        allowed = self._resolve_source(row.source)
        if isinstance(allowed, str):
            return allowed
        scores = self._index.scores(fold(row.question))
        found: list[list[int]] = []
        for forms in row.answer:
            places = self._evidence(row, forms, lang, scores, allowed)
            if isinstance(places, str):
                return places
            found.append(places)
        return self._make_item(row, lang, found, scores)

    def _resolve_source(self, source: str) -> set[int] | str:
        """Return the passages that `source` selects: all if it is empty, otherwise those of a file or a heading."""
        if not source:
            return set(range(len(self._places)))
        name, _, heading = source.partition("#")
        names = self._names.find(name.strip())
        if not names:
            near = _hint(name.strip(), (place.document.name for place in self._places))
            return f"source {name.strip()!r}: no such file was read{near}"
        if len(names) > 1:
            return f"source {name.strip()!r}: several files end with it: {', '.join(sorted(names))}"
        inside = {number for number, place in enumerate(self._places) if place.document.name == names[0]}
        wanted = _slug(heading)
        if not wanted:
            return inside
        below = {
            number for number in inside if wanted in (_slug(above) for above in self._places[number].chunk.headings)
        }
        headings = dict.fromkeys(above for number in sorted(inside) for above in self._places[number].chunk.headings)
        return below or f"source {source!r}: {names[0]} has no heading {heading.strip()!r}{_hint(heading, headings)}"

    def _evidence(
        self, row: QuestionRow, forms: Sequence[str], lang: Lang, scores: NDArray[np.float32], allowed: set[int]
    ) -> list[int] | str:
        """Return the passages that state a part of the answer, best first, or why there are none."""
        answer = " | ".join(forms)
        stating = [number for number in sorted(allowed) if states(self._places[number].folded, forms, lang)]
        if not stating:
            where = f"in {row.source}" if row.source else "in any document"
            return f"the answer {answer!r} does not occur {where}. Add the form that the document uses, separated by |"
        best = scores[stating].max()
        if len(allowed) == len(self._places) and (best < _MIN_SHARE * scores.max() or not best):
            return (
                f"the answer {answer!r} occurs only in passages that share little with the question, e.g. in "
                f"{self._places[stating[0]].document.name}. If one of them is the evidence, name it in `source`"
            )
        # In other questions' documents, the same words may answer something else.
        return sorted((number for number in stating if scores[number] >= _ALSO * best), key=lambda one: -scores[one])

    def _make_item(self, row: QuestionRow, lang: Lang, found: list[list[int]], scores: NDArray[np.float32]) -> Item:
        passages: list[Passage] = []
        whole = [number for number in found[0] if all(number in places for places in found)]
        used: set[int] = set()
        groups = 0  # passages are numbered by the group of answer parts that they state
        for forms, places in zip(row.answer, [whole] if whole else found, strict=False):
            new = [number for number in places if number not in used]
            used.update(new)
            for number in new:
                span = find_sentence(self._places[number].chunk.text, forms, lang)
                passages.append(self._passage(number, "supports", part=None if whole else groups, support=span))
            groups += bool(new)
        if groups == 1:
            passages = [structs.replace(passage, part=None) for passage in passages]
        if row.false_answer:
            for index, passage in list(enumerate(passages)):
                edited = replace_answer(passage.text, row.answer, row.false_answer, lang)
                passages.append(
                    Passage(text=edited, stance="contradicts", edit_of=index, url=passage.url, title=passage.title)
                )
        related = (
            number
            for number in best_places(scores, _DISTRACTORS * 5)
            if number not in used and not mentions_answer(self._places[number].chunk.text, row.answer)
        )
        passages += [
            self._passage(number, "distracts") for number, _ in zip(related, range(_DISTRACTORS), strict=False)
        ]
        return Item(
            id=row.id,
            question=row.question,
            lang=lang,
            answer=row.answer,
            passages=tuple(passages),
            fake=row.false_answer or None,
        )

    def _passage(
        self, number: int, stance: Stance, part: int | None = None, support: tuple[int, int] | None = None
    ) -> Passage:
        place = self._places[number]
        return Passage(
            text=place.chunk.text,
            stance=stance,
            part=part,
            support=support,
            url=place.document.name,
            title=place.document.title or None,
        )


def find_evidence(
    rows: Iterable[QuestionRow], documents: Sequence[SourceDocument], lang: Lang | None = None
) -> tuple[list[Item], list[NotFound]]:
    """Return the items of all questions; those whose evidence was not found have no passages and are also listed."""
    finder, items, missing = EvidenceFinder(documents), list[Item](), list[NotFound]()
    for row in rows:
        own = lang or guess_lang(row.question)
        found = finder.find(row, own)
        if isinstance(found, str):
            missing.append(NotFound(row.line, row.question, found))
            found = Item(id=row.id, question=row.question, lang=own, answer=row.answer, passages=())
        items.append(found)
    return items, missing


def _hint(name: str, known: Iterable[str]) -> str:
    near = nearest_name(name, known)
    return f" (did you mean {near!r}?)" if near else ""


def _slug(heading: str) -> str:
    """Return a heading in the form that links use, e.g. `annual-leave`."""
    return "-".join(re.findall(r"\w+", fold(heading)))
