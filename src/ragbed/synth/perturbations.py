"""Perturbations: possible causes of errors, switched on in one item of a minimal pair and off in the other.

docs/explanation/synthetic-data.md explains each of them. A perturbation counts as the cause of an error if a model
answers the unperturbed item correctly and the perturbed item incorrectly.
"""

from __future__ import annotations

from ragbed.synth.document_plan import (
    Act,
    ArticlePlan,
    DocumentBrief,
    Statement,
    draw_form,
    plan_distractor,
    plan_support,
)
from ragbed.synth.events import TRUE
from ragbed.synth.hash_random import HashRandom

# All perturbations, in the order used by the default mix.
PERTURBATIONS: tuple[str, ...] = (
    "distance", "hedge", "sibling", "outdated", "partial", "contradiction", "agreement", "random", "refusal", "overlap",
    "length",
)  # fmt: skip

# Range from which the minimum length of a document is drawn under the length perturbation. Padding exceeds the minimum
# by up to one sentence, so documents have at most 2,000 tokens.
_LONG_TOKENS = (600, 1950)

# Minimum length in tokens of a document under the distance perturbation. The distance between the
# name and the answer is then far above 60 tokens, the threshold for long-distance errors in the diagnosis.
_FAR_TOKENS = 200

# Minimum length in tokens of a perturbed document. All perturbed documents in an item report the same two events, so
# short ones can be too similar: among 200,000 shorter documents, one pair shared more than 60% of its 8-grams.
_PERTURBED_TOKENS = 100

_GUESSES = 100  # number of early or guessed values per event, high enough that documents rarely state the same value
_CLEAR_FORMS = ("report", "feature")  # document forms that do not mention other events
_FOREIGN = "foreign"  # kind assigned to unperturbed documents about another event family in the same domain
_INSERTS = {"refusal": Act.REFUSAL, "overlap": Act.ECHO}

# Perturbations of supporting documents, with the purpose and role of the statement inserted before the answer.
_SUPPORT_ACTS = {"hedge": (Act.HEDGE, "rumour"), "sibling": (Act.FACT, TRUE), "outdated": (Act.STALE, "early")}


def plan_perturbed_support(name: str | None, on: bool, brief: DocumentBrief, draw: HashRandom) -> ArticlePlan:
    """Return the plan for a supporting document under a perturbation, or for an unperturbed one if the name is None."""
    form = draw_form(brief, draw) if name is None else draw.pick(_CLEAR_FORMS)
    if name in _SUPPORT_ACTS:
        act, role = _SUPPORT_ACTS[name]
        later = [event for event in brief.siblings if event.edition > brief.target.edition]
        event = brief.target if act is Act.STALE else draw.pick(later)
        role = role if role == TRUE else f"{role} {draw.below(_GUESSES)}"
        confusing = Statement(act, event, brief.relation, role, family=0 if on else 1)
        statements = (confusing, Statement(Act.FACT, brief.target, brief.relation))
        return ArticlePlan(statements, "supports", "related", min_tokens=_PERTURBED_TOKENS)
    if name == "distance":
        plan = plan_support(brief, "feature", draw)
        pair = tuple(statement for statement in plan.statements if statement.act is not Act.FILLER)
        return plan._replace(statements=pair, min_tokens=_FAR_TOKENS, order="far" if on else "near")
    return plan_support(brief, form, draw)._replace(min_tokens=_draw_min_tokens(name, on, draw))


def plan_perturbed_distractor(
    name: str | None, on: bool, brief: DocumentBrief, draw: HashRandom, number: int
) -> ArticlePlan:
    """Return the plan for a distracting document under a perturbation.

    Args:
        name: The perturbation, or None for the ordinary mix of forms.
        on: Whether this is the perturbed item of its minimal pair.
        brief: The question.
        draw: The random generator; both items of a minimal pair use the same key.
        number: The document's index among the distractors, so that wrong values differ.
    """
    form = draw_form(brief, draw)
    role = f"wrong {number}"
    ordinary = plan_distractor(brief, form, draw, role)
    if name in _INSERTS:
        plan = plan_distractor(brief, draw.pick(("report", "history")), draw, role)
        insert = Statement(_INSERTS[name] if on else Act.FILLER, brief.target)
        return plan._replace(kind=name if on else plan.kind, insert=insert)
    perturbed = None if name is None else _plan_by_name(name, on, brief, draw, role)
    if perturbed is not None:
        return perturbed._replace(min_tokens=_PERTURBED_TOKENS)
    return ordinary._replace(min_tokens=_draw_min_tokens(name, on, draw))


def _draw_min_tokens(name: str | None, on: bool, draw: HashRandom) -> int:
    long = draw.between(*_LONG_TOKENS)
    return long if name == "length" and on else 0


def _plan_by_name(name: str, on: bool, brief: DocumentBrief, draw: HashRandom, role: str) -> ArticlePlan | None:
    """Return the plan for a distractor if the perturbation changes its statements, or None for other perturbations."""
    target, relation = brief.target, brief.relation
    match name:
        case "hedge":
            earlier = draw.pick([event for event in brief.siblings if event.edition < target.edition])
            statements = Statement(Act.HEDGE, target, relation, role), Statement(Act.FACT, earlier, relation)
            plan = ArticlePlan(statements, "distracts", "rumour")
        case "outdated":
            sibling = draw.pick(brief.siblings)
            statements = Statement(Act.STALE, target, relation, role), Statement(Act.FACT, sibling, relation)
            plan = ArticlePlan(statements, "distracts", "outdated")
        case "sibling":
            plan = plan_distractor(brief, draw.pick(("report", "feature", "history")), draw, role)
        case "partial":
            plan = plan_distractor(brief, "partial", draw, role)
        case "contradiction":
            plan = _plan_contradiction(brief, role)
        case "agreement":
            return _plan_contradiction(brief, "wrong" if on else role)
        case "random":
            plan = plan_distractor(brief, "report", draw, role)
            return plan.moved(2, "random") if on else plan
        case _:
            return None
    return plan if on else plan.moved(1, _FOREIGN)


def _plan_contradiction(brief: DocumentBrief, role: str) -> ArticlePlan:
    wrong = Statement(Act.FACT, brief.target, brief.relation, role)
    return ArticlePlan((wrong, Statement(Act.DETAIL, brief.target, named=False)), "distracts", "contradiction")
