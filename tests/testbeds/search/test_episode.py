"""An episode ends with an answer or at a limit, whatever the model does."""

from __future__ import annotations

import json

import pytest

from ragbed.schema import Completion, Message, Retrieved, ToolCall
from ragbed.testbeds.search.episode import Episode
from ragbed.testbeds.search.settings import SearchSettings
from tests.models.asking import case


def _search(query: str, k: int) -> list[Retrieved]:
    return [Retrieved(id=f"{query}-{number}", stance="supports", text=f"About {query}.") for number in range(k)]


def _episode(protocol: str = "tools", **limits: int) -> Episode:
    return Episode(case(), protocol, SearchSettings(**limits), _search)  # type: ignore[arg-type]


def _call(*queries: str, usage: dict[str, int] | None = None, latency_s: float | None = None) -> Completion:
    calls = tuple(
        ToolCall(id=f"{at}", name="search", arguments=json.dumps({"query": query, "k": 2}))
        for at, query in enumerate(queries)
    )
    return Completion(outcome="ok", reply="", calls=calls, usage=usage, latency_s=latency_s)


def _say(reply: str) -> Completion:
    return Completion(outcome="ok", reply=reply)


def _turns(episode: Episode, done: Completion) -> int:
    """Give the same response until the episode ends."""
    for turn in range(1, 1_000):
        episode.take(done)
        if episode.ended is not None:
            return turn
    raise AssertionError("the episode is endless")


def test_the_results_follow_the_calls_and_the_answer_ends_the_episode() -> None:
    episode = _episode()
    first = episode.request()
    assert (first.messages, first.tools) == (case().messages, True)
    episode.take(_call("a", "b"))
    request = episode.request()
    assert [message.role for message in request.messages] == ["system", "user", "assistant", "tool", "tool"]
    assert request.messages[3] == Message(role="tool", content="Results:\n[1] About a.\n[2] About a.", call="0")
    episode.take(_say("Paris"))
    assert (episode.ended, episode.answer, len(episode.steps)) == ("answered", "Paris", 2)
    assert [len(step.searches) for step in episode.steps] == [2, 0]
    assert episode.steps[0].messages == first.messages
    assert tuple(message for step in episode.steps for message in step.messages) == request.messages


def test_the_text_protocol_explains_itself_and_alternates_roles() -> None:
    episode = _episode("text")
    first = episode.request()
    assert not first.tools
    assert 'SEARCH: {"query": "words to search for", "k": 5}' in first.messages[0].content
    episode.take(_say('SEARCH: {"query": "a", "k": 1}\nResults: [1] Rome.'))
    assert [message.role for message in episode.request().messages] == ["system", "user", "assistant", "user"]
    assert "Rome" not in str(episode.request().messages)
    episode.take(_say("ANSWER: Paris"))
    assert (episode.ended, episode.answer) == ("answered", "Paris")


@pytest.mark.parametrize(
    ("limits", "done", "ended", "turns"),
    [
        ({}, _call("a"), "turn-limit", 8),
        ({"turns": 1}, _call("a"), "turn-limit", 1),
        ({"calls": 3}, _call("a"), "call-limit", 4),
        ({"calls": 3}, _call("a", "b"), "call-limit", 2),
        ({"calls": 1}, _call(*"abcdefghij"), "call-limit", 1),
        ({}, _say(""), "invalid-calls", 3),
        ({}, _say('{"name": "search"'), "invalid-calls", 3),
        ({}, Completion(outcome="ok", calls=(ToolCall(id="1", name="rm", arguments="-rf"),)), "invalid-calls", 3),
        ({"turns": 2}, _say(""), "turn-limit", 2),
        ({}, Completion(outcome="ok", calls=(ToolCall(id="1", name="rm", arguments="{}"),) * 1_000), "call-limit", 1),
    ],
)
def test_every_loop_ends_at_a_named_limit(limits: dict[str, int], done: Completion, ended: str, turns: int) -> None:
    episode = _episode("tools", **limits)
    assert _turns(episode, done) == turns
    assert (episode.ended, episode.answer) == (ended, None)
    executed = [search for step in episode.steps for search in step.searches if search.problem is None]
    assert len(executed) <= limits.get("calls", 16)
    assert all(len(step.searches) <= limits.get("calls", 16) for step in episode.steps)


def test_the_model_is_told_before_its_last_turn_and_after_its_last_search() -> None:
    told = "You cannot search again."
    by_turn, by_call = _episode(turns=2), _episode(calls=1)
    for episode in (by_turn, by_call):
        episode.take(_call("a"))
        assert told in episode.request().messages[-1].content
        episode.take(_say("Paris"))
        assert episode.ended == "answered"
    many = _episode()
    many.take(_call("a"))
    assert told not in many.request().messages[-1].content


def test_a_valid_search_resets_the_count_of_invalid_turns() -> None:
    episode = _episode(turns=20)
    for done in (_say(""), _say(""), _call("a"), _say(""), _say("")):
        episode.take(done)
    assert episode.ended is None
    episode.take(_say(""))
    assert episode.ended == "invalid-calls"
