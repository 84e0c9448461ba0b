"""E8 to E13, which the paper does not list: errors caused by the model, the metric, the data or the call.

E8: wrong format. E9: over-trust of false documents. E10: false refusal. E11: metric false negative. E12: data error.
E13: generation failure.
"""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.testbeds.prompts import FLAG, REFUSAL
from ragbed.testbeds.search.episode import ENDINGS


def find_wrong_words(trial: TrialContext) -> Iterator[Evidence]:
    """E8: the response refuses or reports errors, but without the sentence that the instruction requires."""
    if trial.judged is None:
        return
    for score, rule, wanted in (("refused", "refusal", REFUSAL), ("flagged", "flag", FLAG)):
        if trial.values[score] and not trial.values[f"paper.{score}"]:
            page = trial.reply.page
            mention = next((mention for mention in trial.judged.mentions if mention.rule.startswith(rule)), None)
            start, end = page.place(mention) if mention else (0, len(page.text))
            text = tell("wanted-words", wanted=wanted[trial.case.lang])
            yield Evidence(type="E8", **text, start=start, end=end, cue=page.text[start:end])


def find_over_trust(trial: TrialContext) -> Iterator[Evidence]:
    """E9: the response gives the documents' false answer, although the model knows the right one without documents."""
    is_known = trial.closed_book is not None and trial.closed_book.correct
    if trial.judged is None or not trial.judged.misled or not is_known:
        return
    key = "trusted.flagged" if trial.judged.flagged else "trusted"
    for answer, places in trial.origins[:1]:
        text = tell(key, said=answer.text)
        place = next((place for place in places if trial.stance(place) == "contradicts"), None)
        if place:
            yield Evidence(type="E9", **text, **place.fields)
        else:
            yield Evidence(type="E9", **text, start=answer.start, end=answer.end)


def find_over_refusal(trial: TrialContext) -> Iterator[Evidence]:
    """E10: the response refuses although the documents contain every part of the answer."""
    if trial.judged is None or not trial.judged.refused or trial.case.expect == "refuse":
        return
    supporting = [
        [place for place in trial.places(slot) if trial.stance(place) == "supports"] for slot in trial.gold.slots
    ]
    if supporting and all(supporting):
        yield Evidence(type="E10", **tell("declined"), **supporting[0][0].fields)


def find_missed_credit(trial: TrialContext) -> Iterator[Evidence]:
    """E11: the response is right on the robust track, but wrong by the paper's definition."""
    if trial.case.expect != "refuse" and trial.values.get("correct") and not trial.values["paper.correct"]:
        mention = next(mention for held in trial.reply.held for mention in held)
        start, end = trial.reply.page.place(mention)
        gold = "; ".join(" / ".join(aliases) for aliases in trial.case.answer)
        text, found = tell("spelled", rule=mention.rule), trial.reply.page.text[start:end]
        yield Evidence(type="E11", **text, start=start, end=end, asked=gold, found=found)


def find_data_error(trial: TrialContext) -> Iterator[Evidence]:
    """E12: the gold answer cannot be matched or equals the false answer, or a document has the wrong label."""
    slots = trial.gold.slots
    if not slots or not all(slot.names or slot.dates or slot.quantities for slot in slots):
        yield Evidence(type="E12", **tell("no-answer"))
        return
    if trial.gold.fake_is_gold:
        yield Evidence(type="E12", **tell("same-answer"))
    for number, (page, document) in enumerate(zip(trial.pages, trial.case.documents, strict=True)):
        contained = [page.says(slot, trial.gold) for slot in slots]
        # A case of the `parts` testbed asks for one part, but its documents also include those for the other parts.
        if document.stance == "supports" and not any(contained) and trial.case.testbed != "parts":
            yield Evidence(type="E12", **tell("unsupported"), document=number)
        elif document.stance == "distracts" and all(contained):
            place = next(place for place in trial.places(slots[0]) if place.document == number)
            yield Evidence(type="E12", **tell("gives-away"), **place.fields)


def find_failure(trial: TrialContext) -> Iterator[Evidence]:
    """E13: the response is missing, empty, truncated without an answer, or copied from the documents."""
    completion, judged = trial.stored.completion, trial.judged
    if completion.outcome == "filtered":
        yield Evidence(type="E13", **tell("filtered"))
    elif completion.outcome == "error":
        yield Evidence(type="E13", **tell("failed"), cue=completion.error)
    elif completion.outcome == "truncated" and completion.finish in ENDINGS:
        yield Evidence(type="E13", **tell("search-limit"), cue=completion.finish)
    elif completion.outcome == "truncated":
        yield Evidence(type="E13", **tell("cut" if completion.reply else "empty.cut"))
    elif judged is not None and judged.verdict == "empty":
        yield Evidence(type="E13", **tell("empty"))
    elif judged is not None and judged.verdict != "unscored" and not trial.answers:
        is_echo = any(mention.rule == "echo" for mention in judged.mentions)
        yield Evidence(type="E13", **tell("recited" if is_echo else "answerless"))
