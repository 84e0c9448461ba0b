"""What a model had before it: the documents of the case, or what a system found by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ragbed.schema import Case, Completion


class Context(NamedTuple):
    """A text, under the name that leads back to it."""

    id: str
    text: str


def given_contexts(case: Case) -> list[Context]:
    """The documents of a case."""
    return [Context(f"{document.item or case.item}/{document.source}", document.text) for document in case.documents]


@dataclass
class Contexts:
    """Of the trials of a run; counts what a run does not know of them."""

    untold: int = 0
    """Trials whose system does not say what it found."""
    foreign: int = 0
    """Passages that are not of the corpus: a run keeps the beginning of them only."""

    def of(self, case: Case, completion: Completion) -> list[Context]:
        """Those of one trial, the best first."""
        if case.corpus is None:
            return given_contexts(case)
        self.untold += completion.retrieved is None
        found = completion.retrieved or ()
        known = [Context(one.id, one.text) for one in found if one.stance is not None]
        self.foreign += len(found) - len(known)
        return known

    def notes(self) -> list[str]:
        """What the user should know."""
        notes = []
        if self.untold:
            notes.append(f"Trials whose system does not say what it found: {self.untold:,}. They have no contexts.")
        if self.foreign:
            notes.append(f"Found passages that are not of the corpus: {self.foreign:,}. They are not in it.")
        return notes
