"""`example/first-sentence`: a model that answers with the first sentence of the first document."""

from __future__ import annotations

import re

from ragbed.errors import UnknownName
from ragbed.models import ModelConfig
from ragbed.models.base import canonical
from ragbed.schema import Case, Completion

_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s")


def open_model(config: ModelConfig) -> FirstSentence:
    """Return the model of a configuration; the entry point names this function."""
    if config.model != "first-sentence":
        raise UnknownName("model", config.model, ["first-sentence"])
    return FirstSentence()


class FirstSentence:
    """Implements the protocol `ragbed.models.base.Model`."""

    name = "example/first-sentence"
    concurrency = 16
    advice = ""

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Answer one case; a language model would receive the prompt `case.messages`."""
        if not case.documents:
            return Completion(outcome="ok", reply="I do not know.", finish="stop")
        return Completion(outcome="ok", reply=_END.split(case.documents[0].text, maxsplit=1)[0], finish="stop")

    def request(self, case: Case) -> bytes:
        """Return everything that determines the answer: the key of the response cache."""
        return canonical([document.text for document in case.documents[:1]])

    async def identity(self) -> str:
        """Return a text that changes whenever the answers change."""
        return "1"

    async def close(self) -> None:
        """Close connections and files; this model has none."""
