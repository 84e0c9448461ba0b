"""Remedies: other ways to ask the same case, to be measured against the plain prompt (claim C10).

Some are other texts (`numbered`, `unwarned`), others read the reply or take several calls. Those are generators: each
yields the messages of a call, is sent the reply, and returns the answer; they know nothing of models, so that whoever
asks them through keeps the promises of a run. To add one: its texts in `remedies/<name>/{en,zh}`, and one line below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TypeAlias

from ragbed.schema import Case, Lang, Message

Messages: TypeAlias = tuple[Message, ...]
Flow: TypeAlias = Generator[Messages, str, str]

MARK = "+"
"""Between profile and remedy in the name of the profile that a case is asked under."""
_MOST_PARTS = 4
"""Questions that one is split into, as `split.md` says."""
_NOTHING = re.compile(r"\W*(?:nothing|none|无|没有)?\W*", re.IGNORECASE)
"""What a document that does not answer is summed up as; `each.md` asks for the first and the third."""
_ENUMERATED = re.compile(r"^\s*(?:[-*•]|\(?\d{1,2}[.)、．：:]|[（(]\d{1,2}[）)])\s*")
_PLACEHOLDER = re.compile(r"\{(SYSTEM|DOCS|DOC|QUERY|NOTES|NUMBER)\}")
_ANSWER = re.compile(r"(?:^|\n)[\s*_#>]*(?:answer|答案)[*_]*\s*[:：][*_]*\s*", re.IGNORECASE)
"""The mark before the answer, in whatever Markdown; signs that belong to an answer (−5, $3) are not part of it."""


@dataclass(frozen=True)
class StrategyInput:
    """What a remedy is applied to."""

    plain: Messages
    """The usual prompt, under the remedy's instruction if it has one."""
    question: str
    documents: Sequence[str]
    lang: Lang

    def system(self) -> Messages:
        """The instruction alone."""
        return tuple(message for message in self.plain if message.role == "system")


def quote(asked: StrategyInput) -> Flow:
    """The supporting sentence first, then the answer: only what follows is the answer."""
    reply = yield asked.plain
    *_, answer = _ANSWER.split(reply)
    return answer.strip() or reply


def decompose(asked: StrategyInput) -> Flow:
    """The question is split, each part is asked with all documents, and the answers are put together."""
    texts = read_texts("decompose", asked.lang)
    split = yield _user(texts["split.md"], QUERY=asked.question)
    lines = (_ENUMERATED.sub("", line).strip() for line in split.splitlines())
    parts = list(dict.fromkeys(line for line in lines if line))[:_MOST_PARTS] or [asked.question]
    if len(parts) == 1:  # nothing to put together
        return (yield asked.plain)
    notes = []
    for part in parts:
        reply = yield _asking(asked, part)
        notes.append(f"{part} {_one_line(reply)}")
    return (yield (*asked.system(), *_user(texts["join.md"], QUERY=asked.question, NOTES=_listed(notes))))


def isolate(asked: StrategyInput) -> Flow:
    """Each document is read by itself, and what they say is put together; those that say nothing have no voice."""
    texts = read_texts("isolate", asked.lang)
    notes = []
    for document in asked.documents:
        reply = yield _user(texts["each.md"], QUERY=asked.question, DOC=document)
        if not _NOTHING.fullmatch(reply):
            notes.append(_one_line(reply))
    told = _listed(notes) or texts["none.md"]
    return (yield (*asked.system(), *_user(texts["join.md"], QUERY=asked.question, NOTES=told)))


FLOWS: dict[str, Callable[[StrategyInput], Flow]] = {"quote": quote, "decompose": decompose, "isolate": isolate}
"""Those that do more than word the prompt otherwise."""
REMEDIES = ("quote", "numbered", "unwarned", "decompose", "isolate")


def flow_of(case: Case) -> Flow | None:
    """How a case is asked, where that is not simply by its messages."""
    make = FLOWS.get(case.profile.partition(MARK)[2])
    if make is None:
        return None
    return make(StrategyInput(case.messages, case.question, [document.text for document in case.documents], case.lang))


def fill(template: str, values: Mapping[str, str]) -> str:
    """Puts the values in, in a single pass and by fixed names: what a document says is never a template."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def _asking(asked: StrategyInput, part: str) -> Messages:
    """The plain prompt with a part in place of the whole question, which stands at its end."""
    *before, last = asked.plain
    head, _, tail = last.content.rpartition(asked.question)
    return (*before, Message(role=last.role, content=f"{head}{part}{tail}"))


def _user(template: str, **values: str) -> Messages:
    return (Message(role="user", content=fill(template, values)),)


def _one_line(reply: str) -> str:
    return " ".join(reply.split())


def _listed(notes: Sequence[str]) -> str:
    return "\n".join(f"{number}. {note}" for number, note in enumerate(notes, 1))


@cache
def read_texts(remedy: str | None, lang: Lang) -> Mapping[str, str]:
    """The files of a remedy, by name; none of no remedy."""
    if remedy is None:
        return {}
    folder = Path(__file__).parent / remedy / lang
    return {one.name: one.read_bytes().decode().removesuffix("\n") for one in folder.iterdir()}
