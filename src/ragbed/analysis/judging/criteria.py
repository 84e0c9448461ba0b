"""The criteria by which a judge rates a response, with their prompts and verdicts."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from typing import Literal, TypeAlias

from ragbed.schema import Case, Lang
from ragbed.scoring import starred
from ragbed.testbeds.prompts.fencing import fence_in
from ragbed.testbeds.prompts.verdict import find_verdict

# Yes or no, or the reason why there is no verdict: there was nothing to judge; the judge's response has no verdict, is
# truncated or was filtered; the call failed; the judge has not been called yet; or the prompt was too long.
Verdict: TypeAlias = bool | Literal["none", "unparsed", "truncated", "filtered", "error", "pending", "too-long"]
_LANGS: tuple[Lang, ...] = ("en", "zh")


def render(name: str, subject: Case, reply: str) -> str:
    """Return a criterion's prompt for a response to a case."""
    # Small judge models tend to follow the text that they read last. Without the reminder and the prefix on every
    # judged line, responses that dictate their own verdict mislead a model with 1.5 billion parameters four times as
    # often.
    template = _text(subject.lang, name).replace("{REMINDER}", _text(subject.lang, "reminder"))
    documents = "\n\n".join(document.text for document in subject.documents)
    answer = "\n".join(" / ".join(aliases) for aliases in subject.answer)
    parts = {"QUERY": subject.question, "ANSWER": answer, "DOCS": documents, "REPLY": reply}
    return fence_in(template, _text(subject.lang, "fence"), {key: _quote(text) for key, text in parts.items()})


def read_verdict(reply: str, verdicts: Mapping[str, bool | None]) -> Verdict:
    """Return the verdict in a judge's response, or `unparsed` if there is none or several contradict each other."""
    word = find_verdict(reply, verdicts)
    if word is None:
        return "unparsed"
    value = verdicts[word]
    return "none" if value is None else value


def prompt_hash(name: str) -> str:
    """Return a hash of a criterion's instructions in all languages, which is stored with the judgements."""
    texts = [_text(lang, file) for lang in _LANGS for file in (name, "fence", "reminder")]
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:8]


def _quote(text: str) -> str:
    return "\n".join(f"| {line}" for line in text.splitlines() or [""])


@cache
def _text(lang: str, name: str) -> str:
    return (files(__package__) / "prompts" / lang / f"{name}.md").read_bytes().decode().removesuffix("\n")


_YES_NO: dict[str, bool | None] = {"yes": True, "no": False}


@dataclass(frozen=True)
class Criterion:
    """A question for a judge.

    Attributes:
        name: Its name in command-line options.
        asks: What a yes verdict means, for tables and help texts.
        applies: Returns whether a case can be judged.
        render: Returns the prompt for a case and its response.
        read: Parses the judge's response.
        prompt: Hash of the instructions.
        words: The closed list of verdicts that a judge may write on the last line, if any.
        of_reply: Whether the response itself is judged, rather than only the question and the documents.
        rule: The rule-based score for the same property.
        then: The score that is also counted for responses with a yes verdict, e.g. a correction after a detected error.
        temperature: The judge's sampling temperature.
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
    # The prompts are in `prompts/<lang>/<name>.md`.
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
    # A judged metric from the paper, reproduced with its flaws: the prompt does not delimit the response, the judge
    # answers in free text, and the temperature is the default of 1.
    prompt = starred.prompt_hash(f"{name.removeprefix('code.')}.md")
    return Criterion(name, asks, applies, render, read, prompt, rule=rule, then=then, temperature=1.0)


def _expects(*expected: str) -> Callable[[Case], bool]:
    return lambda case: bool(case.answer) and case.expect in expected


def _has_documents(case: Case) -> bool:
    return bool(case.documents)


CRITERIA: dict[str, Criterion] = {
    criterion.name: criterion
    for criterion in (
        # A refusal may also be right if there is no gold answer.
        _fenced(
            "refusal", "declines to answer", lambda case: case.expect == "refuse" or not case.answer, rule="refused"
        ),
        _fenced(
            "flag",
            "says that the documents are wrong",
            lambda case: case.expect == "correct",
            rule="flagged",
            then="correct",
        ),
        _fenced("correct", "gives the right answer", _expects("answer", "correct", "any"), rule="correct"),
        _fenced("sufficient", "the documents are sufficient", _has_documents, of_reply=False),
        _fenced("supported", "every claim is supported", _has_documents, _YES_NO | {"none": None}),
        _starred(
            "code.rej_star",
            "the original code's Rej*",
            _expects("refuse"),
            lambda case, reply: starred.rej_star_request(case.question, reply),
            starred.read_rej_star,
            rule="code.refused",
        ),
        _starred(
            "code.ed_star",
            "the original code's ED*",
            _expects("correct"),
            lambda _, reply: starred.ed_star_request(reply),
            starred.read_ed_star,
            rule="code.flagged",
            then="code.correct",
        ),
    )
}
