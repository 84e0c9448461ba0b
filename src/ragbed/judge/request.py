"""A stored reply as a case for the judge: the prompt, fenced, and named by the hash of all that is asked."""

from __future__ import annotations

import hashlib
import re
from functools import cache
from importlib.resources import files

from ragbed.judge.criteria import Criterion
from ragbed.run.store import Stored
from ragbed.schema import Answer, Case, Lang, Message

LONGEST = 32_000
"""Characters of a reply, and of the documents, that a judge is shown; longer ones are not judged, and counted."""

_LANGS: tuple[Lang, ...] = ("en", "zh")
_PLACEHOLDER = re.compile(r"\{(QUERY|ANSWER|DOCS|REPLY|FENCE)\}")


def judge_case(criterion: Criterion, stored: Stored) -> Case:
    """What the judge is asked about a reply.

    It is named by the hash of the prompt, so a changed reply never meets an old judgement, and replies that are
    alike in everything the judge sees are judged once.
    """
    subject, reply = stored.case, (stored.completion.reply or "") if criterion.of_reply else ""
    documents = "\n\n".join(document.text for document in subject.documents)
    prompt = _render(criterion, subject, documents, reply)
    longest = max(len(reply), len(documents) if "{DOCS}" in _text(subject.lang, criterion.name) else 0)
    name = f"{criterion.name}/{hashlib.sha256(prompt.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"
    return Case(
        case=name,
        data=criterion.name,
        item=name.partition("/")[2],
        lang=subject.lang,
        testbed="judge",
        question=subject.question,
        noise=None,
        noise_real=None,
        k=0,
        correct=0.0,
        arm="related",
        profile="judge",
        seed=0,
        feasible=longest <= LONGEST,
        documents=(),
        slots=(),
        messages=(Message(role="user", content=prompt),) if longest <= LONGEST else (),
        answer=(),
        fake=None,
        expect="answer",
        reason=None if longest <= LONGEST else f"{longest:,} characters to judge, more than {LONGEST:,}",
    )


def prompt_hash(criterion: Criterion) -> str:
    """Of the instruction texts, in all languages: what a stored judgement was asked with."""
    texts = [_text(lang, name) for lang in _LANGS for name in (criterion.name, "fence")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _render(criterion: Criterion, subject: Case, documents: str, reply: str) -> str:
    parts = {"QUERY": subject.question, "ANSWER": _spell(subject.answer), "DOCS": documents, "REPLY": reply}
    template = _text(subject.lang, criterion.name)
    nonce = _nonce("\0".join((template, *parts.values())))
    values = {name: f"{nonce} begin\n{text}\n{nonce} end" for name, text in parts.items()}
    values["FENCE"] = _text(subject.lang, "fence").replace("{NONCE}", nonce)
    return _PLACEHOLDER.sub(lambda match: values[match[1]], template)


def _nonce(texts: str) -> str:
    """A word that the texts cannot hold: it is the hash of themselves.

    It follows from the content, so that equal requests stay equal, and who writes a reply cannot know it before
    the reply is written.
    """
    nonce = hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return nonce if nonce not in texts else _nonce(f"{texts}\0{nonce}")


def _spell(answer: Answer) -> str:
    return "\n".join(" / ".join(aliases) for aliases in answer)


@cache
def _text(lang: str, name: str) -> str:
    return (files(__package__) / "prompts" / lang / f"{name}.md").read_bytes().decode().removesuffix("\n")
