"""E8, E9, E10: how a model deals with documents that are missing, false or good: its words, its trust, its refusals."""

from __future__ import annotations

from collections.abc import Iterator

from ragbed.analysis.diagnosis.context import TrialContext
from ragbed.analysis.diagnosis.evidence_text import EvidenceText, tell
from ragbed.analysis.diagnosis.records import Evidence
from ragbed.scoring.robust.match import Mention
from ragbed.testbeds.prompts import FLAG, REFUSAL


def find_wrong_words(look: TrialContext) -> Iterator[Evidence]:
    """E8: a refusal, or a warning of errors, that is not the sentence which the instruction asks for."""
    if look.judged is None:
        return
    for score, rule, wanted in (("refused", "refusal", REFUSAL), ("flagged", "flag", FLAG)):
        if look.values[score] and not look.values[f"paper.{score}"]:
            stretch = next((one for one in look.judged.mentions if one.rule.startswith(rule)), None)
            yield _in_reply(look, tell("wanted-words", wanted=wanted[look.case.lang]), stretch)


def find_over_trust(look: TrialContext) -> Iterator[Evidence]:
    """E9: the false answer of the documents, from a model that knows better without them."""
    if look.judged is None or not look.judged.misled or look.closed_book is None or not look.closed_book.correct:
        return
    key = "trusted.flagged" if look.judged.flagged else "trusted"
    for said, places in look.origins[:1]:
        place = next((one for one in places if look.case.documents[one.document].stance == "contradicts"), None)
        yield Evidence(
            type="E9",
            **tell(key, said=said.text),
            document=place.document if place else None,
            start=place.sentence.start if place else said.start,
            end=place.sentence.end if place else said.end,
            sentence=place.sentence.text.strip() if place else None,
        )


def find_over_refusal(look: TrialContext) -> Iterator[Evidence]:
    """E10: a refusal although the documents have every part of the answer."""
    if look.judged is None or not look.judged.refused or look.case.expect == "refuse":
        return
    places = [look.places(slot) for slot in look.gold.slots]
    stances = [[one for one in some if look.case.documents[one.document].stance == "supports"] for some in places]
    if stances and all(stances):
        place = stances[0][0]
        yield Evidence(
            type="E10",
            **tell("declined"),
            document=place.document,
            start=place.sentence.start,
            end=place.sentence.end,
            sentence=place.sentence.text.strip(),
        )


def _in_reply(look: TrialContext, told: EvidenceText, stretch: Mention | None) -> Evidence:
    start, end = look.reply.page.place(stretch) if stretch else (0, len(look.reply.page.text))
    return Evidence(type="E8", **told, start=start, end=end, cue=look.reply.page.text[start:end])
