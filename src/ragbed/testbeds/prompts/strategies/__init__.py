"""Prompting strategies, which are compared with the plain prompt.

Some only change the prompt (`numbered`, `unwarned`, `warned`); others parse the response or make several calls. The
latter are generators, which yield the messages for a call, receive the response, and return the answer. They do not
call models themselves, so that the caller can store every call and resume after an interruption. To add a strategy,
put its texts into `strategies/<name>/{en,zh}` and add it to the tables below. A user's strategy is a folder with such
texts, or a generator function named `python/module:function`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TypeAlias

from msgspec import Struct

from ragbed.plugins import FUNCTION, load_function
from ragbed.schema import Case, Lang, Message
from ragbed.testbeds.prompts.citation_marks import strip_citations

Messages: TypeAlias = tuple[Message, ...]
Flow: TypeAlias = Generator[Messages, str, str]

MARK = "+"  # separates the profile from the strategy in a case's `profile` field
_MAX_PARTS = 4  # maximum number of sub-questions, as stated in `split.md`
# Responses for a document that does not contain an answer; `each.md` requests "nothing" or "无".
_NOTHING = r"(?i)\W*(?:nothing|none|无|没有)?\W*"
_ENUMERATED = r"^\s*(?:[-*•]|\(?\d{1,2}[.)、．：:]|[（(]\d{1,2}[）)])\s*"
_PLACEHOLDER = re.compile(r"\{(SYSTEM|DOCS|DOC|QUERY|NOTES|NUMBER)\}")
# The label before the answer, with any Markdown formatting. Symbols that belong to the answer (−5, $3) do not match.
_ANSWER = r"(?i)(?:^|\n)[\s*_#>]*(?:answer|答案)[*_]*\s*[:：][*_]*\s*"


class StrategyInput(Struct, frozen=True):
    """The input to a strategy; `plain` contains the messages for a single call with the strategy's instruction."""

    plain: Messages
    question: str
    documents: Sequence[str]
    lang: Lang

    def system(self) -> Messages:
        """Return only the system message."""
        return tuple(message for message in self.plain if message.role == "system")


def quote(given: StrategyInput) -> Flow:
    """Request the supporting sentence followed by the answer; only the text after the answer label counts."""
    reply = yield given.plain
    *_, answer = re.split(_ANSWER, reply)
    return answer.strip() or reply


def decompose(given: StrategyInput) -> Flow:
    """Split the question, answer each part with all documents, and combine the answers."""
    texts = read_texts("decompose", given.lang)
    split = yield _user(texts["split.md"], QUERY=given.question)
    lines = (re.sub(_ENUMERATED, "", line).strip() for line in split.splitlines())
    parts = list(dict.fromkeys(line for line in lines if line))[:_MAX_PARTS] or [given.question]
    if len(parts) == 1:  # there is nothing to combine
        return (yield given.plain)
    *before, last = given.plain
    head, _, tail = last.content.rpartition(given.question)
    notes = []
    for part in parts:
        reply = yield (*before, Message(role=last.role, content=f"{head}{part}{tail}"))
        notes.append(f"{part} {_one_line(reply)}")
    return (yield (*given.system(), *_user(texts["join.md"], QUERY=given.question, NOTES=_numbered(notes))))


def isolate(given: StrategyInput) -> Flow:
    """Extract findings from each document in a separate call, and combine them; skip documents without findings."""
    texts = read_texts("isolate", given.lang)
    notes = []
    for document in given.documents:
        reply = yield _user(texts["each.md"], QUERY=given.question, DOC=document)
        if not re.fullmatch(_NOTHING, reply):
            notes.append(_one_line(reply))
    shown = _numbered(notes) or texts["none.md"]
    return (yield (*given.system(), *_user(texts["join.md"], QUERY=given.question, NOTES=shown)))


def cite(given: StrategyInput) -> Flow:
    """Request a citation for every sentence; the answer is the response without the citation marks."""
    reply = yield given.plain
    return strip_citations(reply) or reply


# The strategies that make several calls or postprocess the response.
FLOWS: dict[str, Callable[[StrategyInput], Flow]] = {
    "quote": quote,
    "decompose": decompose,
    "isolate": isolate,
    "cite": cite,
}
WARNED = "warned"  # warns of instructions in documents
STRATEGIES = ("quote", "numbered", "unwarned", "decompose", "isolate", "cite", WARNED)


def flow_of(case: Case) -> Flow | None:
    """Return a generator for a case's calls, or None if the case requires only a single call with its own messages."""
    name = case.profile.partition(MARK)[2]
    make = _load_flow(name) if name.startswith(FUNCTION) else FLOWS.get(name)
    if make is None:
        return None
    return make(StrategyInput(case.messages, case.question, [document.text for document in case.documents], case.lang))


@cache
def _load_flow(name: str) -> Callable[[StrategyInput], Flow]:
    function = load_function(name)

    def flow(given: StrategyInput) -> Flow:
        calls, reply = function(given), None
        while True:
            try:
                messages = calls.send(reply)
            except StopIteration as ended:
                if not isinstance(ended.value, str):
                    raise TypeError(f"{name} must return the answer as a string, not {ended.value!r}") from None
                return ended.value
            reply = yield _user(messages) if isinstance(messages, str) else tuple(messages)

    return flow


def profile_name(strategy: str) -> str:
    """Return the name of a strategy in a case's profile; a folder of texts is called by its last part."""
    return strategy if strategy in STRATEGIES or strategy.startswith(FUNCTION) else Path(strategy).resolve().name


def fill(template: str, values: Mapping[str, str]) -> str:
    """Replace a template's placeholders in one pass, so that documents are never treated as templates."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def _user(template: str, **values: str) -> Messages:
    return (Message(role="user", content=fill(template, values)),)


def _one_line(reply: str) -> str:
    return " ".join(reply.split())


def _numbered(notes: Sequence[str]) -> str:
    return "\n".join(f"{number}. {note}" for number, note in enumerate(notes, 1))


@cache
def read_texts(strategy: str | None, lang: Lang) -> Mapping[str, str]:
    """Return a strategy's texts by file name, or an empty mapping if there is no strategy or it is a function."""
    if strategy is None or strategy.startswith(FUNCTION):
        return {}
    folder = Path(__file__).parent / strategy if strategy in STRATEGIES else Path(strategy)
    return {path.name: path.read_bytes().decode().removesuffix("\n") for path in (folder / lang).glob("*.md")}
