"""The generator's settings."""

from __future__ import annotations

from msgspec import Struct, field

from ragbed.schema import Lang
from ragbed.synth.perturbations import PERTURBATIONS

# In the default mix, eight of ten base items have no perturbation, and the other two are a minimal pair. The
# unperturbed item of the pair comes first, so that a dataset of any size never has a perturbed item without its
# counterpart. There is only one pair because a classifier can distinguish the documents of perturbed items even without
# the question (docs/explanation/synthetic-data.md).
_BLOCK, _PLAIN = 10, 8

# Mean number of tokens by which documents exceed the length at which padding ends: half a sentence, plus the text that
# their style adds.
_SURPLUS_TOKENS = 25


class SynthSpec(Struct, frozen=True):
    """The settings that, together with the code and its phrase banks, determine a synthetic dataset byte for byte.

    Attributes:
        seed: The random seed.
        lang: The language.
        supports: Number of supporting documents in a base item.
        distractors: Number of distracting documents in a base or integration item.
        part_supports: Number of supporting documents per sub-question.
        most_parts: Maximum number of sub-questions in an integration item. With more than three, a prompt with three
            supporting documents and two distractors cannot contain all answers.
        true_documents: Number of true documents in a counterfactual item, which has equally many edited documents and
            equally many distractors.
        tokens: Approximate length of a document.
        perturbations: The perturbations, which are assigned to minimal pairs in rotation, in this order.
        mixed: Whether most items have no perturbation, as in the default mix; otherwise all items are minimal pairs.
    """

    seed: int
    lang: Lang
    supports: int = 10
    distractors: int = 10
    part_supports: int = 5
    most_parts: int = 3
    true_documents: int = 10
    tokens: int = 85
    perturbations: tuple[str, ...] = field(default=PERTURBATIONS, name="dials")  # `dials` is the key in manifests
    mixed: bool = True

    @property
    def padding_ends(self) -> tuple[int, int]:
        """The bounds of the random length, in tokens, to which documents are padded."""
        middle = self.tokens - _SURPLUS_TOKENS
        return middle * 3 // 4, middle * 5 // 4

    def turn(self, ordinal: int) -> tuple[str | None, bool, int]:
        """Return a base item's perturbation, whether it is on, and the ordinal of its minimal pair's first item."""
        block, position = divmod(ordinal, _BLOCK if self.mixed else 2)
        first = _PLAIN if self.mixed else 0
        if not self.perturbations or position < first:
            return None, False, ordinal
        on = position - first
        return self.perturbations[block % len(self.perturbations)], bool(on), ordinal - on
