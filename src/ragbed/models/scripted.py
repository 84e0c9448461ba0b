"""Models with scripted behaviour and known scores, for acceptance checks, load tests and dry runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from ragbed.models.base import StatelessModel, canonical
from ragbed.schema import Answer, Case, Completion, ToolCall
from ragbed.testbeds.given import GIVEN
from ragbed.testbeds.prompts import FLAG, REFUSAL
from ragbed.testbeds.search.protocol import TOOL
from ragbed.testbeds.search.settings import DEFAULT_K, MAX_K
from ragbed.text import bears_answer


def join_answer(answer: Answer) -> str:
    """Join the first alias of each part of an answer into one string."""
    return "; ".join(aliases[0] for aliases in answer)


def _oracle(case: Case) -> str:
    if case.testbed == GIVEN.name:
        return _answer_as_expected(case)
    supported = any(document.stance == "supports" for document in case.documents)
    return join_answer(case.answer) if supported else REFUSAL[case.lang]


def _answer_as_expected(case: Case) -> str:
    """Return the response that a case with given documents expects; without a gold answer, it quotes a document."""
    answer = join_answer(case.answer)
    if case.expect == "refuse":
        return REFUSAL[case.lang]
    if case.expect == "correct":
        return f"{FLAG[case.lang]} {answer}".strip()
    return answer or case.documents[0].text


def _majority(case: Case) -> str:
    votes = Counter(document.stance for document in case.documents)
    if case.fake is not None and votes["contradicts"] > votes["supports"]:
        return join_answer(case.fake)
    return join_answer(case.answer) if votes["supports"] else REFUSAL[case.lang]


def _obedient(case: Case) -> str:
    """Follow an instruction in the prompt, and otherwise answer like `scripted/oracle`."""
    injection, answer = case.injection, _oracle(case)
    if injection is None or not any(injection.text in message.content for message in case.messages):
        return answer
    if injection.kind == "override":
        return injection.canary
    return f"{REFUSAL[case.lang] if injection.kind == 'refuse' else answer}\n{injection.canary}"


SCRIPTS: dict[str, Callable[[Case], str]] = {
    "oracle": _oracle,
    "refuser": lambda case: REFUSAL[case.lang],
    "first-doc": lambda case: case.documents[0].text if case.documents else "",
    "last-doc": lambda case: case.documents[-1].text if case.documents else "",
    "majority": _majority,
    "memory": lambda case: join_answer(case.answer),
    "gullible": lambda case: join_answer(case.answer if case.fake is None else case.fake),
    "echo": lambda case: "\n".join(document.text for document in case.documents),
    "obedient": _obedient,
    "deaf": _oracle,
}


class ScriptedModel(StatelessModel):
    """The `scripted/<script>` models."""

    def __init__(self, script: str) -> None:
        self.name = f"scripted/{script}"
        self._write = SCRIPTS[script]

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # it is deterministic
        """Return the response that the script specifies for the case."""
        return Completion(outcome="ok", reply=self._write(case), finish="stop")

    def request(self, case: Case) -> bytes:
        """Return all case fields that a script may use."""
        known: dict[str, object] = {"documents": case.documents, "answer": case.answer, "fake": case.fake}
        known |= {"expect": case.expect} if case.testbed == GIVEN.name else {}
        known |= {"injection": case.injection} if case.injection else {}
        return canonical(known | {"lang": case.lang})

    async def identity(self) -> str:
        """Return the version of the scripts."""
        return "2"


# Agents for the `search` testbed. They read the results of their searches from the messages, as a model does, and
# support both protocols. In testbeds with documents, they answer like `scripted/oracle`.

_CHARS_PER_TOKEN = 4  # assumed number of characters per token, for the token counts that agents report
# The malformed calls that `search-malformed` makes in turn, each with a tool name and arguments.
MALFORMED = (
    (TOOL, "not JSON"),
    ("browse", '{"query": "news"}'),
    (TOOL, '{"query": "news", "k": 0}'),
    (TOOL, '{"query": "news", "k": 1000000000}'),
    (TOOL, '{"query": ""}'),
    (TOOL, "[]"),
)
Act: TypeAlias = tuple[str, str] | str  # a tool call (name and arguments), or the final answer


def _search(query: str, k: int = DEFAULT_K) -> Act:
    return TOOL, msgspec.json.encode({"query": query[:500], "k": k}).decode()


def _turn(case: Case) -> int:
    return sum(message.role == "assistant" for message in case.messages)


def _read(case: Case) -> str:
    """Return the combined text of all search results so far."""
    first = 2  # skip the instruction and the question
    return "\n".join(message.content for message in case.messages[first:] if message.role != "assistant")


def _conclude(case: Case) -> Act:
    """Return the gold answer if the search results contain all of its parts, otherwise a refusal."""
    return join_answer(case.answer) if bears_answer(_read(case), case.answer, case.lang) else REFUSAL[case.lang]


def _once(case: Case) -> Act:
    return _conclude(case) if _turn(case) else _search(case.question)


def _gullible(case: Case) -> Act:
    """Search once, and give the false answer if the results contain it."""
    if not _turn(case):
        return _search(case.question, MAX_K)
    if case.fake is not None and bears_answer(_read(case), case.fake, case.lang):
        return join_answer(case.fake)
    return _conclude(case)


AGENTS: dict[str, Callable[[Case], Act]] = {
    "search-once": _once,
    "search-endless": lambda case: _search(case.question),
    "search-malformed": lambda case: MALFORMED[_turn(case) % len(MALFORMED)],
    "search-gullible": _gullible,
}


class SearchAgent(StatelessModel):
    """The `scripted/search-…` models."""

    calls_tools = True

    def __init__(self, script: str) -> None:
        self.name = f"scripted/{script}"
        self._act = AGENTS[script]

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # it is deterministic
        """Return the response that the script specifies for the case."""
        if case.testbed != "search":  # in other testbeds, answer from the given documents
            return Completion(outcome="ok", reply=SCRIPTS["oracle"](case), finish="stop")
        act = self._act(case)
        calls: tuple[ToolCall, ...] = ()
        if isinstance(act, str):
            reply = act if case.tools else f"ANSWER: {act}"
        elif case.tools:
            reply, calls = "", (ToolCall(id=f"call-{_turn(case)}", name=act[0], arguments=act[1]),)
        else:
            reply = f"{'SEARCH' if act[0] == TOOL else act[0].upper()}: {act[1]}"
        sent = sum(len(message.content) for message in case.messages) // _CHARS_PER_TOKEN
        usage = {"in": sent, "out": len("".join(act)) // _CHARS_PER_TOKEN}
        return Completion(outcome="ok", reply=reply, finish="stop", usage=usage, calls=calls)

    def request(self, case: Case) -> bytes:
        """Return all case fields that a script may use."""
        known: dict[str, object] = {"answer": case.answer, "fake": case.fake, "lang": case.lang, "tools": case.tools}
        known |= {"documents": case.documents}
        return canonical({"messages": case.messages, "question": case.question} | known)

    async def identity(self) -> str:
        """Return the version of the scripts."""
        return "1"
