"""Pools: what may stand in one item together, when a pool is good enough, and what else answers the question."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.builder.build_context import AcceptedQuestion, Pool
from ragbed.builder.model_calls import Request
from ragbed.builder.pools import find_shortcuts, make_answers, sift, usable_passages
from ragbed.schema import Case, Label, Labelling, Question, Reject
from tests.builder.steps import draft, make_build, passage, write

GIVES = "The Orbis group paid 44 billion for Tidewater Radio, its chief said on Monday in Lund."
NEARLY = "The Orbis group paid a lot for Tidewater Radio, its chief said on Monday in Lund."
OTHER = "Tidewater Radio plays songs from the sea all night, and many people listen to it."


def _labels(*labels: Label) -> list[Labelling]:
    return [Labelling(label=label, rule="test", reason="as told") for label in labels]


@pytest.mark.parametrize(
    ("texts", "labels", "reasons"),
    [
        ([GIVES, OTHER], ("positive", "related"), ["", ""]),
        ([GIVES, GIVES], ("positive", "positive"), ["", "duplicate"]),
        ([GIVES, GIVES.replace(" ", "\n")], ("positive", "positive"), ["", "duplicate"]),
        ([NEARLY, GIVES], ("related", "positive"), ["near-duplicate", ""]),  # evidence is taken first
        ([OTHER, OTHER + " Or so they say."], ("related", "outdated"), ["", "near-duplicate"]),
        ([GIVES, OTHER], ("mention", "related"), ["mention", ""]),
        (["44", "44", "45"], ("positive", "positive", "related"), ["", "duplicate", ""]),  # too short for grams
        ([" \n", OTHER], ("random", "related"), ["blank", ""]),
        ([], (), []),
    ],
)
def test_each_passage_stays_or_has_a_reason(texts: list[str], labels: tuple[Label, ...], reasons: list[str]) -> None:
    assert [reason.partition(":")[0] for reason in sift(texts, _labels(*labels))] == reasons


def test_a_passage_with_all_parts_is_a_shortcut() -> None:
    question = Question(
        question="Who directed and who wrote Low Tide, and for how much?",
        lang="en",
        answer=(("Ada Brandt",), ("$44 billion",)),
    )
    texts = ["Ada Brandt directed it.", "Ada Brandt made it for $44bn.", "It cost $44bn."]
    assert find_shortcuts(question, texts) == [1]


def pool(supports: str, distracts: str, question: str = "q") -> Pool:
    """One passage for each letter, which is its host."""
    true = [passage(f"Ada Orsa won the Cup ({number}).", host, supports=True) for number, host in enumerate(supports)]
    false = [passage(f"The Cup is old ({number}).", host, supports=False) for number, host in enumerate(distracts)]
    return Pool(question=question, passages=(*true, *false))


@pytest.mark.parametrize(
    ("supports", "distracts", "reply", "outcome"),
    [
        ("ab", "cdef", "unknown", ""),
        ("ab", "cdef", "Bob Miller", ""),  # no passage says so
        ("", "cdef", "unknown", "few-supports"),
        ("ab", "cde", "unknown", "few-distracts"),
        ("aa", "cdef", "unknown", "one-source"),
        ("ab", "cdef", "It was Ada Orsa.", "in-distractors"),
    ],
)
def test_an_answer_is_verified_or_has_one_word_for_why_not(
    tmp_path: Path, supports: str, distracts: str, reply: str, outcome: str
) -> None:
    build = make_build(tmp_path, lambda _request, _case: reply)
    write(build, "questions", [draft("q", "Who won the Cup of Velden?", "Ada Orsa")])
    write(build, "review", [AcceptedQuestion(question="q")])
    write(build, "stances", [pool(supports, distracts)])
    (found,) = make_answers(build)
    if outcome:
        assert isinstance(found, Reject)
        assert found.outcome == outcome
    else:
        assert found == pool(supports, distracts)


@pytest.mark.parametrize(
    ("verdict", "name", "outcome"),
    [("yes", "Velden", "other-answer"), ("no", "Velden", ""), ("yes", "Norrland", "")],  # no passage is about Norrland
)
def test_another_answer_in_another_passage_counts_if_the_passage_states_it(
    tmp_path: Path, verdict: str, name: str, outcome: str
) -> None:
    def reply(request: Request, case: Case) -> str:
        return "Bob Miller" if request.task == "reader" else verdict

    build = make_build(tmp_path, reply)
    labelled = pool("ab", "cde")
    write(build, "review", [AcceptedQuestion(question="q", name=name)])
    other = passage("In the end Bob Miller won the Cup of Velden.", "f", supports=False)
    write(build, "questions", [draft("q", "Who won the Cup of Velden?", "Ada Orsa")])
    write(build, "stances", [Pool(question="q", passages=(*labelled.passages, other))])
    (found,) = make_answers(build)
    assert (found.outcome if isinstance(found, Reject) else "") == outcome


def test_a_source_gives_at_most_so_many_passages_of_a_label() -> None:
    asked = draft("q", "Who won the Cup?", "Ada Orsa")
    passages = pool("aaab", "aab").passages
    assert [one.url[8] for one in usable_passages(asked, passages, 2) if one.url] == list("aabaab")
    assert len(usable_passages(asked, passages, 0)) == 7
    mention = passage("Ada Orsa likes tea.", "a", supports=True)
    assert usable_passages(draft("q", "Who won the 1931 Cup of Velden in the rain?", "Ada Orsa"), [mention], 0) == ()
