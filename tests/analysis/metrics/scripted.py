"""Scripted models on the bundled data, scored by the real scorers and measured."""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from ragbed.analysis.metrics import measure
from ragbed.analysis.metrics.cells import Cell
from ragbed.analysis.trials.columns import Trial, group_rows
from ragbed.data.catalog import open_data
from ragbed.models.scripted import SCRIPTS
from ragbed.schema import Case
from ragbed.scoring import score
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.settings import Settings
from tests.items import untwinned

SHARES = (0, 0.2, 0.4, 0.6, 0.8, 1)
_ITEMS = 20  # each of five slots, and each of two, is used equally often
_CORRECT = tuple(Fraction(fifths, 5) for fifths in range(6))


@cache
def lay_out(lang: str, profile: str, rotate: bool = False) -> tuple[Case, ...]:
    """Return all cases of the bundled data in a language, with all distractor conditions for our own profile."""
    ours = profile in ("robust", "paper")
    settings = Settings(
        profile=profile,
        distractors=("related", "random", "fixed") if ours and not rotate else ("related",),
        correct=_CORRECT if ours and not rotate else (Fraction(0),),
        all_positions=rotate,
        limit=_ITEMS + 10,
    )
    datasets = open_data([f"ragbed-mini-{lang}_{kind}" for kind in ("base", "int", "fact")])
    kept = {item.id for data in datasets for item in untwinned(data.items(), _ITEMS)}
    testbeds = [TESTBEDS[name] for name in DEFAULT_TESTBEDS]
    cases = (case for data in datasets for testbed in testbeds for case in testbed.cases(data, settings))
    return tuple(case for case in cases if case.item in kept)


def ask(script: str, cases: tuple[Case, ...]) -> list[Trial]:
    """Return the scored responses of a scripted model to every case."""
    return [
        Trial(
            model=script, data=case.data, item=case.item, lang=case.lang, testbed=case.testbed, profile=case.profile,
            noise=case.noise, correct=case.true_ratio, k=case.k, arm=case.arm,
            seed=case.seed, slots=case.slots, outcome="ok" if case.feasible else "infeasible", cluster=case.event,
            scores=score(case, SCRIPTS[script](case)) if case.feasible else None,
        )
        for case in cases
    ]  # fmt: skip


class Found:
    """Cells that can be looked up."""

    def __init__(self, cells: list[Cell]) -> None:
        self._cells: dict[tuple[object, ...], Cell] = {}
        for cell in cells:
            told = cell.as_json()
            kind = cell.key.data.rpartition("_")[2]
            places = tuple(told[name] for name in ("noise", "k", "arm", "correct", "slot"))
            key = (cell.key.model, kind, cell.scorer, cell.scope, cell.table, cell.estimate.metric, *places)
            assert key not in self._cells, key
            self._cells[key] = cell

    def __len__(self) -> int:
        return len(self._cells)

    def value(self, where: str, model: str, scorer: str, *, scope: str = "all", **place: object) -> float | None:
        """The value of `kind.table.metric`."""
        kind, table, metric = where.split(".")
        place = {"arm": "related"} | place
        places = tuple(place.get(name) for name in ("noise", "k", "arm", "correct", "slot"))
        return self._cells[model, kind, scorer, scope, table, metric, *places].estimate.value


@cache
def found(script: str, lang: str, profile: str, rotate: bool = False) -> Found:
    """Return all cells of a scripted model."""
    return Found(list(measure(group_rows(ask(script, lay_out(lang, profile, rotate))), SCORERS)))


SCORERS = ("code", "paper", "robust")
