"""E8 to E12, which the paper does not list: errors caused by the model, the data, the call or the search.

E8: over-trust of false documents. E9: false refusal. E10: data error. E11: generation failure. E12: evidence not found.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.scoring.retrieval import parts_of, supported_share
from ragbed.scoring.search import has_support
from ragbed.testbeds.search.episode import ENDINGS
from ragbed.text import contains_slot

_MAX_QUERIES = 300  # maximum number of characters to store from the queries of an episode


def find_over_trust(trial: TrialContext) -> Iterator[Evidence]:
    """E8: the response gives the documents' false answer, although the model knows the right one without documents."""
    is_known = trial.closed_book is not None and trial.closed_book.correct
    if trial.judged is None or not trial.judged.misled or not is_known:
        return
    key = "trusted.flagged" if trial.judged.flagged else "trusted"
    for answer, places in trial.origins[:1]:
        text = tell(key, said=answer.text)
        place = next((place for place in places if trial.stance(place) == "contradicts"), None)
        if place:
            yield Evidence(type="E8", **text, **place.fields)
        else:
            yield Evidence(type="E8", **text, start=answer.start, end=answer.end)


def find_over_refusal(trial: TrialContext) -> Iterator[Evidence]:
    """E9: the response refuses although the documents contain every part of the answer."""
    if trial.judged is None or not trial.judged.refused or trial.case.expect == "refuse":
        return
    supporting = [
        [place for place in trial.places(slot) if trial.stance(place) == "supports"] for slot in trial.gold.slots
    ]
    if supporting and all(supporting):
        yield Evidence(type="E9", **tell("declined"), **supporting[0][0].fields)


def find_data_error(trial: TrialContext) -> Iterator[Evidence]:
    """E10: the gold answer cannot be matched or equals the false answer, or a document has the wrong label."""
    slots = trial.gold.slots
    if not slots or not all(slot.names or slot.dates or slot.quantities for slot in slots):
        yield Evidence(type="E10", **tell("no-answer"))
        return
    if trial.gold.fake_is_gold:
        yield Evidence(type="E10", **tell("same-answer"))
    if trial.retrieved is not None:  # their labels are about the questions of the items they belong to
        return
    for number, (page, document) in enumerate(zip(trial.pages, trial.case.documents, strict=True)):
        if document.stance == "supports":
            text = document.text.lower()
            is_written = any(contains_slot(text, aliases, trial.case.lang) for aliases in trial.case.answer)
            if not is_written and not any(page.says(slot, trial.gold) for slot in slots):
                yield Evidence(type="E10", **tell("unsupported"), document=number)
        elif document.stance == "distracts" and all(page.says(slot, trial.gold) for slot in slots):
            for place in [place for place in trial.places(slots[0]) if place.document == number][:1]:
                yield Evidence(type="E10", **tell("gives-away"), **place.fields)


def find_failure(trial: TrialContext) -> Iterator[Evidence]:
    """E11: the response is missing, empty, truncated without an answer, or copied from the documents."""
    completion, judged = trial.stored.completion, trial.judged
    if completion.outcome == "filtered":
        yield Evidence(type="E11", **tell("filtered"))
    elif completion.outcome == "error":
        yield Evidence(type="E11", **tell("failed"), cue=completion.error)
    elif completion.outcome == "truncated" and completion.finish in ENDINGS:
        yield Evidence(type="E11", **tell("search-limit"), cue=completion.finish)
    elif completion.outcome == "truncated":
        yield Evidence(type="E11", **tell("cut" if completion.reply else "empty.cut"))
    elif judged is not None and judged.verdict == "empty":
        yield Evidence(type="E11", **tell("empty"))
    elif judged is not None and judged.verdict != "unscored" and not trial.answers:
        is_echo = any(mention.rule == "echo" for mention in judged.mentions)
        yield Evidence(type="E11", **tell("recited" if is_echo else "answerless"))


def find_missing_evidence(trial: TrialContext) -> Iterator[Evidence]:
    """E12: the passages that the model or system retrieved do not support every part of the answer."""
    is_scored = trial.stored.completion.outcome in ("ok", "truncated") and trial.case.expect != "refuse"
    if trial.retrieved is None or not is_scored or not has_support(trial.case):
        return
    supported = supported_share(trial.case, parts_of(trial.retrieved))
    if supported < 1:
        queries = [search.query for step in trial.stored.completion.steps for search in step.searches]
        key = "found-part" if supported else "found-nothing" if trial.retrieved else "retrieved-nothing"
        yield Evidence(type="E12", **tell(key), cue="; ".join(queries)[:_MAX_QUERIES] or None)
