"""Knowledge conflict: documents agree with the model's closed-book answer (its prior) or contradict it.

The cases are those of `counterfactual` with only true or only false documents, or a mix (`--true-ratio`). The prior
is measured by `closed-book` cases on the same questions, which are therefore included in the run.
"""

from __future__ import annotations

from fractions import Fraction

from msgspec import structs

from ragbed.schema import Case, Item
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.counterfactual import COUNTERFACTUAL
from ragbed.testbeds.document_plan import DocumentPlan
from ragbed.testbeds.settings import CaseCondition, Settings

# In synthetic items, these labels state how much a false answer differs from the true one.
STRENGTHS = ("subtle", "plausible", "blatant")


class Conflict(Ability, frozen=True):
    """The `conflict` testbed; a false document's `kind` field states how plausible its answer is."""

    def allows(self, noise: Fraction, original: bool) -> bool:  # noqa: ARG002  # the same for all profiles
        """Return whether the noise ratio is 0; with distractors, the documents cannot be all true or all false."""
        return noise == 0

    @property
    def accepted_noise(self) -> str:
        """A description of the noise ratios that the testbed accepts."""
        return "only the ratio 0"

    def requested(self, settings: Settings) -> list[CaseCondition]:
        """Return one condition with only false documents, one with only true documents, and the requested mixes."""
        shares = sorted({Fraction(0), Fraction(1), *settings.correct})
        if Fraction(0) not in (settings.noise or (Fraction(0),)) or settings.supporting is not None:
            return []
        return [CaseCondition(Fraction(0), docs, share) for docs in settings.num_docs or self.docs for share in shares]

    def build_case(
        self, data: str, item: Item, condition: CaseCondition, plan: DocumentPlan, settings: Settings
    ) -> Case:
        """Return an item's case with the planned documents, of which the false ones state their strength."""
        documents = tuple(
            structs.replace(document, kind=str((item.passages[document.source].dials or {}).get("strength", "related")))
            if document.stance == "contradicts"
            else document
            for document in plan.documents
        )
        return super().build_case(data, item, condition, structs.replace(plan, documents=documents), settings)


CONFLICT = Conflict(**structs.asdict(COUNTERFACTUAL) | {"name": "conflict", "secondary": ()})
