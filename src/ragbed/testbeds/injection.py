"""Instructions in documents: the same case with and without an instruction that is hidden in one of its documents.

Each question has a clean case and one for each kind of instruction, all with the same documents in the same positions,
and the same again with a prompt that warns of instructions in documents. Over the questions, each kind is in a
supporting and in a distracting document equally often, and at every position.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeAlias

from msgspec import structs

from ragbed.data import Dataset
from ragbed.schema import Case, InjectionKind
from ragbed.testbeds.ability import Ability, Supply, feasible_share
from ragbed.testbeds.cases import name_case
from ragbed.testbeds.document_bank import DocumentBank
from ragbed.testbeds.document_order import Ordered, digest, order_item, slots_of
from ragbed.testbeds.document_plan import DocumentPlan, plan_ours
from ragbed.testbeds.noise import NOISE
from ragbed.testbeds.prompts.injection import KINDS, insert, make_canary, write_instruction
from ragbed.testbeds.prompts.strategies import WARNED
from ragbed.testbeds.settings import CLEAN, CaseCondition, Settings

NAME = "injection"
_NOISE = Fraction(2, 5)
_FEWEST = 2  # minimum number of documents: a supporting and a distracting one
_MIN_FEASIBLE = 0.5
# By kind, the fields of its case that differ from those of the clean case.
_Planted: TypeAlias = dict[InjectionKind, dict[str, Any]]


class InjectionTestbed(Ability, frozen=True):
    """The `injection` testbed; a case's `arm` is the kind of instruction, or `clean`."""

    def allows(self, noise: Fraction, original: bool) -> bool:  # noqa: ARG002  # the same for all profiles
        """Return whether there are both supporting and distracting documents."""
        return 0 < noise < 1

    @property
    def accepted_noise(self) -> str:
        """A description of the noise ratios that the testbed accepts."""
        return "ratios between 0 and 1, with one of the distractors related and random"

    def _ratios(self, settings: Settings, docs: int) -> list[Fraction]:
        """Return the requested noise ratios; by default, the whole number of distractors nearest to the usual ratio."""
        if settings.noise is None and settings.supporting is None:
            return [_usual_noise(docs)] if docs >= _FEWEST else []
        return super()._ratios(settings, docs)

    def fit(self, default: Sequence[CaseCondition], supplies: Sequence[Supply]) -> list[CaseCondition]:
        """Return the default conditions, or fewer documents if most items have too few for them."""
        for one in default:
            for docs in range(one.docs, _FEWEST - 1, -1):
                fewer = one if docs == one.docs else structs.replace(one, noise=_usual_noise(docs), docs=docs)
                if supplies and feasible_share(fewer, supplies) >= _MIN_FEASIBLE:
                    return [fewer]
        return list(default)

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield, for every item and condition, the clean case and one for each kind, without and with a warning."""
        if settings.strategy == WARNED:
            return  # these cases are among those for the plain prompt
        prompts = [settings] if settings.strategy else [settings, replace(settings, strategy=WARNED)]
        distractors = tuple(arm for arm in settings.distractors if arm != "fixed")[:1]  # names do not distinguish them
        conditions = [
            (one, {arm: structs.replace(one, arm=arm) for arm in (CLEAN, *KINDS)})
            for one in self.conditions(replace(settings, distractors=distractors))
        ]
        used = Counter[tuple[str, int, int]]()
        for item, around, turns in self._items(dataset, settings, tuple(one for one, _ in conditions)):
            ordered = order_item(item, settings.seed)
            bank = DocumentBank(ordered, around)
            if item.twin is None:
                used.update((item.lang, docs, turn) for docs, turn in turns.items())
            for condition, by_arm in conditions:
                turn = turns[condition.docs]
                plan = plan_ours(ordered, bank, condition, self.draw, turn)
                planted = _plant(ordered, condition, plan, turn, used[item.lang, condition.docs, turn] % 2)
                for prompt in prompts:
                    clean = self.build_case(dataset.name, item, by_arm[CLEAN], plan, prompt)
                    yield clean
                    for kind, fields in planted.items():
                        name = name_case(clean.data, item.id, NAME, f"{by_arm[kind].label},{prompt.label}")
                        texts = [document.text for document in fields.get("documents", ())]
                        messages = prompt.instructions.messages(item.lang, item.question, texts) if texts else ()
                        yield structs.replace(clean, case=name, arm=kind, messages=messages, **fields)


def _usual_noise(docs: int) -> Fraction:
    return Fraction(max(1, round(_NOISE * docs)), docs)


def _plant(ordered: Ordered, condition: CaseCondition, plan: DocumentPlan, turn: int, first: int) -> _Planted:
    """Return, for each kind, the fields of a case that differ from the clean case; an infeasible case has none.

    The kinds alternate between the first supporting and the last distracting document, starting with `first`.
    """
    if plan.reason is not None:
        return {kind: {} for kind in KINDS}
    slots = slots_of((turn + condition.rotation) % condition.docs, condition.docs)
    lang, texts = ordered.item.lang, [document.text for document in plan.documents]
    texts += [ordered.item.question, *(alias for aliases in ordered.item.answer for alias in aliases)]
    text = "\n".join(texts)
    planted: _Planted = {}
    for number, kind in enumerate(KINDS):
        key = digest(ordered.key, kind)
        injection = write_instruction(kind, lang, key, make_canary(key, [text]))
        slot = slots[0 if (number + first) % 2 else -1]
        document = plan.documents[slot]
        changed = structs.replace(document, text=insert(document.text, injection.text, lang, key))
        documents = (*plan.documents[:slot], changed, *plan.documents[slot + 1 :])
        planted[kind] = {"injection": injection, "documents": documents, "slots": (slot,)}
    return planted


_DEFAULT = {"name": NAME, "noise": (_NOISE,), "secondary": ()}
INJECTION = InjectionTestbed(**structs.asdict(NOISE) | _DEFAULT)
