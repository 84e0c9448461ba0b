"""Find the refusals of a response and its statements that the documents are wrong."""

from __future__ import annotations

from ragbed.scoring.robust import flag, refusal
from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.patterns import Terms
from ragbed.scoring.robust.phrase_rules import PhraseRules
from ragbed.scoring.robust.question import Asked

_PHRASES = PhraseRules((flag.RULES, flag.is_flag), (refusal.RULES, refusal.is_refusal))


def find_phrases(text: str, terms: Terms, asked: Asked) -> tuple[list[Mention], list[Mention]]:
    """Return the refusals and the error flags of a folded response."""
    found = _PHRASES.find(text, terms, asked)
    refusals = [mention for mention in found if mention.rule.startswith("refusal")]
    return refusals, [mention for mention in found if mention.rule.startswith("flag")]
