"""A model's opinion of a label: what it is asked, how its reply is read, and what becomes of the label.

Nothing is asked here: the pipeline asks, and keeps the replies.
"""

from __future__ import annotations

from msgspec.structs import replace

from ragbed.build.asking import spell, write_prompt
from ragbed.build.mentions import WEAK
from ragbed.prompts.verdict import find_verdict
from ragbed.schema import Label, Labelling, Question

VERDICTS: dict[str, Label | None] = {
    "supports": "positive",
    "partial": "partial",
    "outdated": "outdated",
    "contradicts": "contradicting",
    "none": None,
}
"""What each word that the model may end with says; none leaves it to the rules."""


def ask_opinion(question: Question, text: str) -> str:
    """What a model is asked about a passage."""
    texts = {"QUERY": question.question, "ANSWER": spell(question.answer), "DOCS": text}
    return write_prompt(question.lang, "stance", texts)


def weigh_opinion(labelling: Labelling, reply: str) -> Labelling:
    """The label after a model's opinion, which is read strictly and never lets in what the rules saw no trace of.

    | By rules | Model | Label |
    |---|---|---|
    | positive | supports | positive |
    | positive | anything else | mention |
    | mention, in full and meant | supports | positive |
    | no answer there | supports | mention: it may be said in other words, so it is no clean distractor |
    | no answer there | partial, outdated, contradicts | that |

    A reply that is not understood changes nothing but the reason.
    """
    word = find_verdict(reply, VERDICTS)
    if word is None:
        return replace(labelling, reason=f"{labelling.reason}; the model's opinion was not understood")
    said = VERDICTS[word]
    label = labelling.label
    if label == "positive" and said != "positive":
        label = "mention"
    elif label == "mention" and said == "positive" and labelling.rule not in WEAK:
        label = "positive"
    elif label not in {"positive", "mention"} and said is not None:
        label = "mention" if said == "positive" else said
    rule = labelling.rule if label == labelling.label else "model"
    return replace(labelling, label=label, rule=rule, reason=f"{labelling.reason}; the model says: {word}")
