"""Parsing of verdicts: a verdict or `unparsed`, never a guess."""

from __future__ import annotations

import pytest

from ragbed.analysis.judging.criteria import Verdict, read_verdict
from ragbed.analysis.judging.judge_run import settle, verdict_of
from ragbed.io.retry import RetryPolicy
from ragbed.schema import Completion

WORDS = {"yes": True, "no": False, "none": None}

_DRESSES = (
    "VERDICT: {}",
    "verdict: {}",
    "Verdict：{}",
    "**VERDICT:** {}",
    "**Verdict: {}**",
    "VERDICT: **{}**",
    "VERDICT: '{}'",
    "VERDICT: “{}”。",
    "VERDICT: `{}`.",
    "VERDICT: [{}]",
    "VERDICT: ({})",
    "  - VERDICT: {}  ",
    "VERDICT: {}!",
    "### Verdict: {}",
    "It says nothing of the kind.\nVERDICT: {}",
    "理由如下：文档没有答案。\nVERDICT: {}",
    "VERDICT: {}\nLet me check it again.\nVERDICT: {}",
    "```\nVERDICT: {}\n```",
    "```text\nBecause the reply gives a place.\nVERDICT: {}\n```\n",
    "The reply says:\n> VERDICT: yes\n> VERDICT: no\nIt does not decide.\nVERDICT: {}",
    "VERDICT: {}\nThe reply ends with:\n> VERDICT: yes\n> VERDICT: no",
    "VERDICT: {}\nThe reply ends with:\n| VERDICT: yes\n| VERDICT: no",
    "VERDICT: {}\nThe reply ends with:\n```\nVERDICT: yes\nVERDICT: no\n```",
    "The reply ends with:\n~~~\nVERDICT: yes\nVERDICT: no\n~~~\nVERDICT: {}",
    'The reply holds the line "VERDICT: yes" to mislead me.\nVERDICT: {}',
    "VERDICT: {}\n\nBecause the reply gives a place.",
    "VERDICT: {}\r\n",
    "{}",
    '{"verdict": "{}"}',
    '{"reason": "It is wrong.\\nVERDICT: yes", "verdict": "VERDICT: {}"}',
    '```json\n{"reason": "It says so.", "verdict": "VERDICT: {}"}\n```',
    " {}. ",
    "**{}**",
    "“{}”",
)


@pytest.mark.parametrize("dress", _DRESSES)
@pytest.mark.parametrize("word", ["yes", "no", "none", "YES", "No"])
def test_a_clear_verdict_is_parsed_in_any_format(dress: str, word: str) -> None:
    value = WORDS[word.lower()]
    assert read_verdict(dress.replace("{}", word), WORDS) == ("none" if value is None else value)


_UNCLEAR = (
    "",
    " \n\t ",
    "\x00\x01\x02",
    "Roses are red, violets are blue,\nthe verdict is something I leave up to you.",
    "VERDICT:",
    "VERDICT: ",
    "VERDICT: maybe",
    "VERDICT: yes or no",
    "VERDICT: yes/no",
    "VERDICT: not yes",
    "VERDICT: yes, no",
    "VERDICT: yes (but also no)",
    "VERDICT: <word>",
    "VERDICT: 是",
    "VERDICT: yesterday",
    "VERDICT: nope",
    "VERDICT: none of the above",
    "VERDICT: yes\nVERDICT: unsure",
    "VERDICT: yes\nVERDICT:",
    "VERDICT: no\nVERDICT: yes or no",
    "VERDICT: no\nVERDICT: yes",
    "VERDICT: yes\nVERDICT: none",
    "VERDICT: no\nOn second thought.\nVERDICT: yes",
    "VERDICT: no\nThe reply ends with this line:\nVERDICT: yes",
    'VERDICT: no\nThe reply ends with this line:\n"VERDICT: yes"',
    "> VERDICT: yes",
    "| VERDICT: yes",
    "The reply says:\n> VERDICT: yes",
    "The reply says:\n```\nVERDICT: yes\n```",
    "The reply says:\n```\nVERDICT: yes",
    "```\nVERDICT: yes\n```\nis what it says. So does\n```\nVERDICT: yes\n```",
    "Yes, the model has identified the factual errors.",
    "No. I would not say Yes here: it cannot be said that the model has identified them.",
    "yes yes",
    "yes and no",
    "yes\nno",
    "I say yes.",
    "The answer is no.",
    "是",
    "否",
    "not addressed",
    "The verdict is yes",
    "VERDICT = yes",
    "VERDICT yes",
    "MYVERDICT: yes and so on",
    '{"verdict": "maybe"}',
    '{"verdict": true}',
    '{"reason": "VERDICT: yes"}',
    "VERDICT: 1",
    "VERDICT: true",
    "VERDICT: y",
    "VERDICT: yes" + "!" * 50 + " I think",
    "verdict",
)


@pytest.mark.parametrize("reply", _UNCLEAR)
@pytest.mark.parametrize("around", ["{}", "Let me think.\n{}", "{}\n\n"])
def test_an_ambiguous_verdict_is_unparsed(reply: str, around: str) -> None:
    assert read_verdict(around.replace("{}", reply), WORDS) == "unparsed"


def test_a_word_outside_the_list_of_its_criterion_is_unparsed() -> None:
    assert read_verdict("VERDICT: none", {"yes": True, "no": False}) == "unparsed"


@pytest.mark.parametrize("filler", ["verdict ", "\n", " \n", "* ", "> ", "```\n", ".\n\n", "VERDICT: yes\n"])
def test_a_very_long_response_is_parsed(filler: str) -> None:
    assert read_verdict(filler * (RetryPolicy().max_bytes // len(filler) // 2 * 2) + "\nVERDICT: yes", WORDS) is True


@pytest.mark.parametrize(
    ("votes", "verdict"),
    [
        ([True, True, False], True),
        ([False, "unparsed", "error"], False),
        ([True, False], "unparsed"),
        ([True, False, "unparsed"], "unparsed"),
        (["none", "none", True], "none"),
        (["unparsed", "error", "unparsed"], "unparsed"),
        (["error"], "error"),
        ([], "pending"),
    ],
)
def test_the_majority_of_decided_votes_wins(votes: list[Verdict], verdict: Verdict) -> None:
    assert settle(votes) == verdict


def test_a_failed_call_has_no_verdict() -> None:
    def read(reply: str) -> Verdict:
        return read_verdict(reply, WORDS)

    assert verdict_of(Completion(outcome="error", error="timeout"), read) == "error"
    assert verdict_of(Completion(outcome="filtered"), read) == "filtered"
    assert verdict_of(Completion(outcome="truncated", reply="yes"), read) == "truncated"
    assert verdict_of(Completion(outcome="ok", reply=None), read) == "unparsed"
