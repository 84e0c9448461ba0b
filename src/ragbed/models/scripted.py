"""Models with scripted behaviour and known scores, for acceptance checks, load tests and dry runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ragbed.models.base import StatelessModel, canonical
from ragbed.schema import Answer, Case, Completion
from ragbed.testbeds.prompts import REFUSAL


def join_answer(answer: Answer) -> str:
    """Join the first alias of each part of an answer into one string."""
    return "; ".join(aliases[0] for aliases in answer)


def _oracle(case: Case) -> str:
    supported = any(document.stance == "supports" for document in case.documents)
    return join_answer(case.answer) if supported else REFUSAL[case.lang]


def _majority(case: Case) -> str:
    votes = Counter(document.stance for document in case.documents)
    if case.fake is not None and votes["contradicts"] > votes["supports"]:
        return join_answer(case.fake)
    return join_answer(case.answer) if votes["supports"] else REFUSAL[case.lang]


SCRIPTS: dict[str, Callable[[Case], str]] = {
    "oracle": _oracle,
    "refuser": lambda case: REFUSAL[case.lang],
    "first-doc": lambda case: case.documents[0].text if case.documents else "",
    "last-doc": lambda case: case.documents[-1].text if case.documents else "",
    "majority": _majority,
    "memory": lambda case: join_answer(case.answer),
    "gullible": lambda case: join_answer(case.answer if case.fake is None else case.fake),
    "echo": lambda case: "\n".join(document.text for document in case.documents),
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
        return canonical({"documents": case.documents, "answer": case.answer, "fake": case.fake, "lang": case.lang})

    async def identity(self) -> str:
        """Return the version of the scripts."""
        return "2"
