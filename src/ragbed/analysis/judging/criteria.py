"""What a judge can be asked about a reply."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files

from ragbed.analysis.judging.verdict import Verdict, read_verdict
from ragbed.schema import Answer, Case, Lang
from ragbed.scoring import starred
from ragbed.testbeds.prompts.fencing import fence_in

_LANGS: tuple[Lang, ...] = ("en", "zh")


def render(name: str, subject: Case, reply: str) -> str:
    """The prompt of a criterion about a reply to a case."""
    # Small judges heed what they read last: without the reminder, and a mark before every line of what is judged, a
    # reply that dictates its verdict talks a model of 1.5 billion parameters round four times as often (docs/judge.md).
    template = _text(subject.lang, name).replace("{REMINDER}", _text(subject.lang, "reminder"))
    documents = "\n\n".join(document.text for document in subject.documents)
    parts = {"QUERY": subject.question, "ANSWER": _spell(subject.answer), "DOCS": documents, "REPLY": reply}
    return fence_in(template, _text(subject.lang, "fence"), {key: _quote(text) for key, text in parts.items()})


def prompt_hash(name: str) -> str:
    """Of the instruction texts, in all languages: what a stored judgement was asked with."""
    texts = [_text(lang, file) for lang in _LANGS for file in (name, "fence", "reminder")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _quote(text: str) -> str:
    """Every line, whatever ends it, with a mark before it."""
    return "\n".join(f"| {line}" for line in text.splitlines() or [""])


def _spell(answer: Answer) -> str:
    return "\n".join(" / ".join(aliases) for aliases in answer)


@cache
def _text(lang: str, name: str) -> str:
    return (files(__package__) / "prompts" / lang / f"{name}.md").read_bytes().decode().removesuffix("\n")


_YES_NO: dict[str, bool | None] = {"yes": True, "no": False}


@dataclass(frozen=True)
class Criterion:
    """One question to a judge.

    Attributes:
        name: As the user writes it.
        asks: What a yes means, for tables and help.
        applies: To which cases.
        render: Makes the prompt from a case and the reply to it.
        read: Reads the judge's reply.
        prompt: Hash of the instruction texts.
        words: The closed list of lines that a judge may end with, where there is one.
        of_reply: Whether the reply is looked at; else the question and the documents alone.
        rule: The score that decides the same by rule.
        then: The score that is counted among the yes: a correction after an error was found.
        temperature: Of the judge, for a single vote.
    """

    name: str
    asks: str
    applies: Callable[[Case], bool]
    render: Callable[[Case, str], str]
    read: Callable[[str], Verdict]
    prompt: str
    words: tuple[str, ...] = ()
    of_reply: bool = True
    rule: str | None = None
    then: str | None = None
    temperature: float = 0.0


def _fenced(  # noqa: PLR0913 - what differs between criteria
    name: str, asks: str, applies: Callable[[Case], bool], verdicts: Mapping[str, bool | None] = _YES_NO,
    *, of_reply: bool = True, rule: str | None = None, then: str | None = None,
) -> Criterion:  # fmt: skip
    """A criterion of ours, whose prompts are `prompts/<lang>/<name>.md`."""
    return Criterion(
        name,
        asks,
        applies,
        partial(render, name),
        partial(read_verdict, verdicts=verdicts),
        prompt_hash(name),
        words=tuple(f"VERDICT: {word}" for word in verdicts),
        of_reply=of_reply,
        rule=rule,
        then=then,
    )


def _starred(  # noqa: PLR0913 - what differs between criteria
    name: str, asks: str, applies: Callable[[Case], bool], render: Callable[[Case, str], str],
    read: Callable[[str], bool], *, rule: str, then: str | None = None,
) -> Criterion:  # fmt: skip
    """A judged metric of the paper, faults included: no fence, no closed list, at the API's own temperature."""
    prompt = starred.prompt_hash(f"{name.removeprefix('code.')}.md")
    return Criterion(name, asks, applies, render, read, prompt, rule=rule, then=then, temperature=1.0)


def _expects(*what: str) -> Callable[[Case], bool]:
    return lambda case: case.expect in what


def _has_documents(case: Case) -> bool:
    return bool(case.documents)


CRITERIA: dict[str, Criterion] = {
    one.name: one
    for one in (
        _fenced("refusal", "declines to answer", _expects("refuse"), rule="refused"),
        _fenced("flag", "says that documents are wrong", _expects("correct"), rule="flagged", then="correct"),
        _fenced("correct", "gives the right answer", _expects("answer", "correct"), rule="correct"),
        _fenced("sufficient", "the documents suffice", _has_documents, of_reply=False),
        _fenced("supported", "every claim is backed", _has_documents, _YES_NO | {"none": None}),
        _starred(
            "code.rej_star",
            "Rej* of the original code",
            _expects("refuse"),
            lambda case, reply: starred.rej_star_request(case.question, reply),
            starred.read_rej_star,
            rule="code.refused",
        ),
        _starred(
            "code.ed_star",
            "ED* of the original code",
            _expects("correct"),
            lambda _, reply: starred.ed_star_request(reply),
            starred.read_ed_star,
            rule="code.flagged",
            then="code.correct",
        ),
    )
}
