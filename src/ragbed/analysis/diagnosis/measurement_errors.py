"""E11, E12, E13: errors that are not the model's reading: of the metric, of the data, of the call."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import Evidence


def find_missed_credit(look: TrialContext) -> Iterator[Evidence]:
    """E11: right on the robust track, wrong by the paper's definition."""
    if look.case.expect != "refuse" and look.values.get("correct") and not look.values["paper.correct"]:
        mention = next(mention for held in look.reply.held for mention in held)
        start, end = look.reply.page.place(mention)
        wanted = "; ".join(" / ".join(aliases) for aliases in look.case.answer)
        found = look.reply.page.text[start:end]
        yield Evidence(
            type="E11",
            **tell("spelled", rule=mention.rule),
            start=start,
            end=end,
            asked=wanted,
            found=found,
        )


def find_data_error(look: TrialContext) -> Iterator[Evidence]:
    """E12: the answer cannot be matched, the false one says it too, or a document is not what its label says."""
    slots = look.gold.slots
    if not slots or not all(slot.names or slot.dates or slot.quantities for slot in slots):
        yield Evidence(type="E12", **tell("no-answer"))
        return
    if look.gold.fake_is_gold:
        yield Evidence(type="E12", **tell("same-answer"))
    for number, (page, document) in enumerate(zip(look.pages, look.case.documents, strict=True)):
        told = [page.says(slot, look.gold) for slot in slots]
        # A part that is asked by itself has the documents of the others, too.
        if document.stance == "supports" and not any(told) and look.case.testbed != "parts":
            yield Evidence(type="E12", **tell("unsupported"), document=number)
        elif document.stance == "distracts" and all(told):
            place = next(one for one in look.places(slots[0]) if one.document == number)
            yield Evidence(
                type="E12",
                **tell("gives-away"),
                document=number,
                start=place.sentence.start,
                end=place.sentence.end,
                sentence=place.sentence.text.strip(),
            )


def find_failure(look: TrialContext) -> Iterator[Evidence]:
    """E13: no reply, an empty one, or one that answers nothing: cut short, or copied from the documents."""
    completion = look.stored.completion
    if completion.outcome == "refused":
        yield Evidence(type="E13", **tell("filtered"))
    elif completion.outcome == "error":
        yield Evidence(type="E13", **tell("failed"), cue=completion.error)
    elif look.judged is not None and look.judged.verdict == "empty":
        yield Evidence(type="E13", **tell("empty.cut" if completion.finish == "length" else "empty"))
    elif look.judged is not None and look.judged.verdict != "unscored" and not look.answers:
        if any(one.rule == "echo" for one in look.judged.mentions):
            yield Evidence(type="E13", **tell("recited"))
        else:
            yield Evidence(type="E13", **tell("cut" if completion.finish == "length" else "answerless"))
