"""A state machine, without I/O, for an episode: the turns in which a model searches and finally answers.

`Episode.take` receives the model's response and decides what to send next, or that the episode has ended. Searches are
deterministic, so an interrupted episode is resumed by replaying its stored responses.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias, get_args

from msgspec import structs

from ragbed.schema import Case, Completion, Message, Retrieved, Search, Step
from ragbed.testbeds.search.protocol import (
    continue_text,
    continue_tools,
    parse_text,
    parse_tools,
    read_texts,
    show_results,
)
from ragbed.testbeds.search.settings import MAX_INVALID, MAX_INVALID_IN_TURN, SearchSettings

SearchFunction: TypeAlias = Callable[[str, int], Sequence[Retrieved]]  # takes a query and the maximum number of results
# The reason why an episode ended. For all values except `answered`, the outcome of the case is `truncated`.
Ending: TypeAlias = Literal["answered", "turn-limit", "call-limit", "invalid-calls"]


ENDINGS: tuple[Ending, ...] = get_args(Ending)


class Episode:
    """The state of an episode.

    Args:
        case: The case, with the instruction and the question as messages.
        protocol: How the model calls the tool.
        limits: The limits for the episode.
        search: The function that searches the case's corpus.

    Attributes:
        ended: How the episode ended, or None if it has not ended yet.
        answer: The final answer, or None if there is none yet.
        steps: The turns so far.
    """

    def __init__(
        self, case: Case, protocol: Literal["tools", "text"], limits: SearchSettings, search: SearchFunction
    ) -> None:
        self._case, self._protocol, self._limits, self._search = case, protocol, limits, search
        self.ended: Ending | None = None
        self.answer: str | None = None
        self.steps: list[Step] = []
        self._new = _first_messages(case) if protocol == "text" else case.messages
        self._sent: tuple[Message, ...] = ()
        self._calls = self._invalid = 0

    def request(self) -> Case:
        """Return the case with the messages for the next request."""
        return structs.replace(self._case, messages=self._sent + self._new, tools=self._protocol == "tools")

    def take(self, done: Completion, *, cached: int = 0) -> None:
        """Add a response, execute its searches, and either prepare the next request or end the episode."""
        parsed = parse_tools(done) if self._protocol == "tools" else parse_text(done)
        searches = () if parsed.answer is not None else self._execute(parsed.searches)
        self._add_step(done, cached, searches)
        if parsed.answer is not None:
            self.ended, self.answer = "answered", parsed.answer
            return
        self.ended = self._limit_reached(searches)
        if self.ended is None:
            lang = self._case.lang
            told = [show_results(search, lang) for search in searches]
            if self._calls == self._limits.calls or len(self.steps) == self._limits.turns - 1:
                told[-1] = f"{told[-1]}\n\n{read_texts(lang)['last']}"
            self._sent += self._new
            is_tools = self._protocol == "tools"
            self._new = continue_tools(parsed, done.calls, told) if is_tools else continue_text(parsed, told)

    def fail(self, done: Completion, *, cached: int = 0) -> None:
        """Add a response whose outcome is not `ok`; that outcome becomes the case's outcome."""
        self._add_step(structs.replace(done, calls=()), cached, ())

    def _add_step(self, done: Completion, cached: int, searches: tuple[Search, ...]) -> None:
        step = Step(messages=self._new, reply=done.reply, usage=done.usage, latency_s=done.latency_s, cached=cached)
        self.steps.append(structs.replace(step, calls=done.calls, searches=searches, protocol=self._protocol))

    def _execute(self, wanted: Sequence[Search]) -> tuple[Search, ...]:
        """Execute searches until the limit is reached, and drop any further ones.

        Invalid searches do not count, but a turn ends after too many of them.
        """
        executed: list[Search] = []
        invalid = 0
        for search in wanted:
            is_valid = search.problem is None
            if (is_valid and self._calls == self._limits.calls) or invalid == MAX_INVALID_IN_TURN:
                self.ended = "call-limit"
                break
            invalid += not is_valid
            if is_valid:
                self._calls += 1
                search = structs.replace(search, found=tuple(self._search(search.query, search.k)))  # noqa: PLW2901
            executed.append(search)
        self._invalid = 0 if any(search.problem is None for search in executed) else self._invalid + 1
        return tuple(executed)

    def _limit_reached(self, searches: Sequence[Search]) -> Ending | None:
        if self.ended is not None:
            return self.ended
        if searches and self._invalid >= MAX_INVALID:
            return "invalid-calls"
        return "turn-limit" if len(self.steps) >= self._limits.turns else None


def _first_messages(case: Case) -> tuple[Message, ...]:
    """Return a case's messages, with the text protocol's instruction added."""
    system, *others = case.messages
    text = f"{system.content}\n\n{read_texts(case.lang)['text']}"
    return (structs.replace(system, content=text), *others)
