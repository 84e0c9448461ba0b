"""What is asked of the generator."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct

from ragbed.schema import Lang
from ragbed.synth.perturbations import DIALS

_BLOCK, _PLAIN = 10, 8
"""Of every ten base items of the default mix eight have no dial; the other two are an item with a dial
off and, right after it, its twin with the dial on. The one that is off comes first, so that however many
items are asked for, no dial is on without its twin. Not more than two, because items with a dial are
less well mixed: a classifier that sees no question tells their documents apart (docs/synth.md)."""

_SURPLUS_TOKENS = 25
"""By how much documents are longer than where padding was to end: half a sentence of it, and what their voice adds."""

_LONG_ENOUGH_TOKENS = 65
"""Length from which documents have three sentences at least, which come to about 80 tokens; two come to about 60."""


class PerturbationTurn(NamedTuple):
    """How one ordinal's item has its dial: which, whether on, and the ordinal it shares with its twin."""

    dial: str | None
    on: bool
    root: int


class SynthSpec(Struct, frozen=True):
    """Everything that the bytes of a world depend on, besides the code and its banks."""

    seed: int
    lang: Lang
    supports: int = 10
    """Supporting documents of a base item."""
    distractors: int = 10
    """Distracting documents of a base or integration item."""
    part_supports: int = 5
    """Supporting documents of each sub-question."""
    most_parts: int = 3
    """Sub-questions of an integration item, at most: with more than three a mix of five documents, two of them noise,
    has no room for all."""
    true_documents: int = 10
    """True documents of a counterfactual item; there are as many edits of them and as many distracting ones."""
    tokens: int = 85
    """About how long a document is."""
    dials: tuple[str, ...] = DIALS
    """The dials that are varied, in turn."""
    mixed: bool = True
    """Whether most items have no dial, as in the default mix; otherwise all items come in pairs."""

    @property
    def is_short(self) -> bool:
        """Whether documents tell what they have to and hardly anything else."""
        return self.tokens < _LONG_ENOUGH_TOKENS

    @property
    def padding_ends(self) -> tuple[int, int]:
        """Lengths between which each document draws where its padding ends."""
        middle = self.tokens - _SURPLUS_TOKENS
        return middle * 3 // 4, middle * 5 // 4

    def turn(self, ordinal: int) -> PerturbationTurn:
        """What the base item of an ordinal varies."""
        block, place = divmod(ordinal, _BLOCK if self.mixed else 2)
        first = _PLAIN if self.mixed else 0
        if not self.dials or place < first:
            return PerturbationTurn(None, False, ordinal)
        pairs = (_BLOCK - _PLAIN) // 2 if self.mixed else 1
        pair, on = divmod(place - first, 2)
        return PerturbationTurn(self.dials[(block * pairs + pair) % len(self.dials)], bool(on), ordinal - on)
