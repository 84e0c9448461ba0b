"""Decide which of the mentioned candidates a response gives as its answer."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby
from typing import NamedTuple

from ragbed.scoring.robust.match import Mention
from ragbed.scoring.robust.model import calibrate, load_weights, weigh_candidates
from ragbed.scoring.robust.reader import ResponseReader
from ragbed.scoring.robust.tokens import FALSE, TRUE, Token

# A response that gives both the true and the false answer is `unsure` if the true one has at least this probability.
MIN_CHANCE = 0.1
REPEATED = 0.2  # minimum probability of a false answer that the response attributes to a document
# Minimum log odds of a name and of a number or date if the response mentions no other candidate.
ALONE_NAME, ALONE_NUMBER = -0.05, -0.1
# The calibrated probabilities between which a response that names all parts of an answer is `unsure`.
NO_PARTS, ALL_PARTS = 0.18, 0.6


class Decision(NamedTuple):
    """The mentions that a response gives as its answer.

    Attributes:
        true: The asserted mentions of each part of the true answer.
        false: The asserted mentions of the false answer.
        evidence: All mentions with their status.
        odds: The log odds that the response gives the true answer, if a model has decided it.
        is_contested: Whether the response may give another candidate as its answer just as well.
    """

    true: list[list[Mention]]
    false: list[Mention]
    evidence: list[Mention]
    odds: float | None = None
    is_contested: bool = False


def decide(reader: ResponseReader, refusal: float, *, is_copy: bool) -> Decision:
    """Decide which mentions a response gives as its answer.

    Args:
        reader: The candidates that the response mentions.
        refusal: The log odds that the response refuses to answer.
        is_copy: Whether the response is a copy of one document, which is not an argument for its answer.
    """
    if len(reader.true) != 1:
        return _decide_parts(reader)
    true = reader.true[0]
    if is_copy and refusal <= 0:
        return Decision([true], reader.false, _evidence(reader, bool(true), bool(reader.false)))
    chances = weigh_candidates(reader.tokens, reader.lang) if true or reader.false else {}
    chance, false = chances.get(TRUE, 0.0), chances.get(FALSE, 0.0)
    odds = _log_odds(chance)
    if refusal > max(odds, 0):
        return Decision([[]], [], _evidence(reader, False, False), min(odds, -refusal))
    gives_both = bool(true and reader.false) and chance >= MIN_CHANCE and _gives_both(reader.tokens)
    rejected, accepted = load_weights(reader.lang).limits
    if true and len(chances) > 1 and (gives_both or rejected < odds <= accepted):
        has_false = gives_both or false > chance / 2
        evidence = _evidence(reader, has_false, has_false)
        return Decision(
            [true if has_false else []], reader.false if has_false else [], evidence, odds, is_contested=True
        )
    alone = ALONE_NAME if reader.gold.slots[0].names else ALONE_NUMBER
    is_true = bool(true) and odds > (0 if len(chances) > 1 else alone)
    # If the true answer is missing, an asserted false answer counts, even if the response attributes it to a document.
    is_repeated = not true and false > REPEATED and any(reader.status(each) == "asserted" for each in reader.false)
    is_false = false > 0.5 or is_repeated
    evidence = _evidence(reader, is_true, is_false)
    return Decision([true if is_true else []], reader.false if is_false else [], evidence, odds)


def _gives_both(tokens: Sequence[Token]) -> bool:
    """Return whether two sentences differ only in that one names the true answer and the other the false one."""
    frames: dict[str, set[str]] = {TRUE: set(), FALSE: set()}
    for _, sentence in groupby(tokens, key=lambda token: token.sentence):
        words = list(sentence)
        named = {token.candidate for token in words if token.candidate}
        if len(named) == 1 and not named.isdisjoint(frames):
            frames[named.pop()].add(" ".join("X" if token.candidate else token.text for token in words))
    return not frames[TRUE].isdisjoint(frames[FALSE])


def _log_odds(chance: float) -> float:
    chance = min(max(chance, 1e-9), 1 - 1e-9)
    return math.log(chance / (1 - chance))


def _evidence(reader: ResponseReader, is_true: bool, is_false: bool) -> list[Mention]:
    """Return the mentions of all candidates, each with its status."""
    found = []
    for name, mentions, is_given in (("answer", reader.true[0], is_true), ("fake", reader.false, is_false)):
        for mention in mentions:
            status = reader.status(mention)
            if not is_given and status == "asserted":
                status = "other-role"
            found.append(mention._replace(rule=f"{name}.{mention.rule}.{status}"))
    if not is_true:
        found += [mention._replace(rule="rival") for mention in reader.rivals]
    return found


def _decide_parts(reader: ResponseReader) -> Decision:
    """Return the parts of a multi-part answer that the response asserts."""
    evidence: list[Mention] = []

    def keep(mentions: Sequence[Mention], name: str) -> list[Mention]:
        statuses = [(mention, reader.status(mention)) for mention in mentions]
        evidence.extend(mention._replace(rule=f"{name}.{mention.rule}.{status}") for mention, status in statuses)
        return [mention for mention, status in statuses if status == "asserted"]

    true, false = [keep(each, "answer") for each in reader.true], keep(reader.false, "fake")
    if not all(true):
        return Decision(true, false, evidence)
    chances = weigh_candidates(reader.tokens, reader.lang)
    odds = _log_odds(chances.get(TRUE, 0.0))
    if chances.get(FALSE, 0.0) < MIN_CHANCE:
        false = []
    chance = calibrate(odds, "parts", reader.lang)
    if chance <= NO_PARTS:
        true = [[] for _ in true]
    return Decision(true, false, evidence, odds, is_contested=NO_PARTS < chance <= ALL_PARTS)
