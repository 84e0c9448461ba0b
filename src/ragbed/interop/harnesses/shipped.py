"""The testbeds that harnesses find by name as soon as ragbed is installed: the paper's conditions."""

from __future__ import annotations

from dataclasses import dataclass

from ragbed.data.catalog import open_data
from ragbed.errors import UnknownName
from ragbed.interop.exports.frozen import Layout, PartCounts, TestbedPart, part_name
from ragbed.schema import Case, Lang
from ragbed.testbeds import TESTBEDS
from ragbed.testbeds.ability import Ability
from ragbed.testbeds.settings import Settings, show_ratio

_FILES: dict[str, dict[str, str]] = {
    "mini": {"base": "ragbed-mini-{lang}_base", "int": "ragbed-mini-{lang}_int", "fact": "ragbed-mini-{lang}_fact"},
    "rgb": {"base": "{lang}_refine", "int": "{lang}_int", "fact": "{lang}_fact"},
}
"""Data that come with ragbed or that `ragbed data get` brings, by the kind of their items."""

_KINDS = {
    "noise": ("base",),
    "rejection": ("base",),
    "integration": ("int",),
    "counterfactual": ("fact",),
    "closed-book": ("base", "int", "fact"),
}
_LANGS: tuple[Lang, ...] = ("en", "zh")


@dataclass(frozen=True)
class Shipped:
    """One of them."""

    family: str
    lang: Lang
    testbed: str

    @property
    def name(self) -> str:
        """`mini_en_noise`: what it is called everywhere."""
        return f"{self.family}_{part_name(self.lang, self.testbed)}"

    @property
    def conditions(self) -> tuple[str, ...]:
        """As its cases tell them apart; known without data."""
        testbed = TESTBEDS[self.testbed]
        ratios = testbed.noise if isinstance(testbed, Ability) else ()
        return tuple(f"noise={show_ratio(noise)}" for noise in ratios) if len(ratios) > 1 else ("",)

    @property
    def data(self) -> list[str]:
        """The datasets it is laid out from."""
        return [_FILES[self.family][kind].format(lang=self.lang) for kind in _KINDS[self.testbed]]


SHIPPED = {
    one.name: one
    for one in (Shipped(family, lang, testbed) for family in _FILES for lang in _LANGS for testbed in _KINDS)
}


def lay_out_shipped(name: str) -> tuple[TestbedPart, list[Case]]:
    """Its cases that can be asked, laid out anew: the same every time, from data that are checked when they come.

    Raises:
        UsageError: There is no such one, or its data are not here.
    """
    if name not in SHIPPED:
        raise UnknownName("testbed", name, SHIPPED)
    one = SHIPPED[name]
    layout = Layout(open_data(one.data), [TESTBEDS[one.testbed]], Settings(langs=(one.lang,)), named=True)
    tallied = PartCounts(one.lang, one.testbed)
    cases = [case for case in layout.cases() if tallied.add(case)]
    return tallied.part(), cases
