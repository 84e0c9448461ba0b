"""E8, E9 and E10: wrong wording of refusals, trust in false documents, and unnecessary refusals."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import tell
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.testbeds.prompts import FLAG, REFUSAL


def find_wrong_words(trial: TrialContext) -> Iterator[Evidence]:
    """E8: a refusal, or a warning of errors, without the sentence that the instruction requires."""
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
    """E9: the false answer of the documents, although the model knows the right one without them."""
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
    """E10: a refusal although the documents contain every part of the answer."""
    if trial.judged is None or not trial.judged.refused or trial.case.expect == "refuse":
        return
    supporting = [
        [place for place in trial.places(slot) if trial.stance(place) == "supports"] for slot in trial.gold.slots
    ]
    if supporting and all(supporting):
        yield Evidence(type="E10", **tell("declined"), **supporting[0][0].fields)
