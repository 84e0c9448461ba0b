"""Models that follow a script, with scores that are known in advance: acceptance checks, load tests, dry runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ragbed.models.base import canonical
from ragbed.schema import Answer, Case, Completion
from ragbed.testbeds.prompts import REFUSAL


def _gold(case: Case) -> str:
    return _say(case.answer)


def _say(answer: Answer) -> str:
    return "; ".join(aliases[0] for aliases in answer)


def _oracle(case: Case) -> str:
    """The gold if a document supports it, else the refusal."""
    supported = any(document.stance == "supports" for document in case.documents)
    return _gold(case) if supported else REFUSAL[case.lang]


def _majority(case: Case) -> str:
    """The answer that most documents carry: the true one, the false one, or the refusal if neither leads."""
    votes = Counter(document.stance for document in case.documents)
    if case.fake is not None and votes["contradicts"] > votes["supports"]:
        return _say(case.fake)
    return _gold(case) if votes["supports"] else REFUSAL[case.lang]


SCRIPTS: dict[str, Callable[[Case], str]] = {
    "oracle": _oracle,
    "refuser": lambda case: REFUSAL[case.lang],
    "first-doc": lambda case: case.documents[0].text if case.documents else "",
    "last-doc": lambda case: case.documents[-1].text if case.documents else "",
    "majority": _majority,
    "memory": _gold,
    "gullible": lambda case: _say(case.fake) if case.fake is not None else _gold(case),
    "echo": lambda case: "\n".join(document.text for document in case.documents),
}


class ScriptedModel:
    """A script as a model."""

    concurrency = 64
    advice = ""

    def __init__(self, script: str) -> None:
        self.name = f"scripted/{script}"
        self._write = SCRIPTS[script]

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # it draws nothing
        """Follows the script."""
        return Completion(outcome="ok", reply=self._write(case), finish="stop")

    def request(self, case: Case) -> bytes:
        """What a script may look at."""
        return canonical({"documents": case.documents, "answer": case.answer, "fake": case.fake, "lang": case.lang})

    async def identity(self) -> str:
        """A script is what it is called."""
        return "2"

    async def close(self) -> None:
        """Holds nothing."""
