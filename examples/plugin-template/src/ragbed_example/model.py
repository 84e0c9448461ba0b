"""`example/first-sentence`: a model that answers with the first sentence of the first document."""

from __future__ import annotations

import re

from ragbed.errors import UnknownName
from ragbed.models import ModelConfig
from ragbed.models.base import canonical
from ragbed.schema import Case, Completion

_END = re.compile(r"(?<=[。！？])|(?<=[.!?])\s")


def open_model(wish: ModelConfig) -> FirstSentence:
    """What the entry point names: from what the user wrote to a model."""
    if wish.model != "first-sentence":
        raise UnknownName("model", wish.model, ["first-sentence"])
    return FirstSentence()


class FirstSentence:
    """What ragbed asks of a model (`ragbed.models.base.Model`)."""

    name = "example/first-sentence"
    concurrency = 16
    advice = ""

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Answers one case; `case.messages` is the prompt, which a language model would be sent."""
        if not case.documents:
            return Completion(outcome="ok", reply="I do not know.", finish="stop")
        return Completion(outcome="ok", reply=_END.split(case.documents[0].text, maxsplit=1)[0], finish="stop")

    def request(self, case: Case) -> bytes:
        """All that the answer hangs on: the key of the cache."""
        return canonical([document.text for document in case.documents[:1]])

    async def identity(self) -> str:
        """Changes with every change of the answers."""
        return "1"

    async def close(self) -> None:
        """Gives back connections and files; this one has none."""
