"""Testbeds, which turn a dataset into cases; each ability has its own module.

To add a testbed, write a module with an object that has the attributes of `BuiltinTestbed`, and add it to TESTBEDS.
Plug-ins provide testbeds through the entry point group `ragbed.testbeds` (docs/reference/plugins.md).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ragbed import plugins
from ragbed.data import Dataset
from ragbed.errors import PluginFailed
from ragbed.plugins import find_part
from ragbed.schema import Case, ScoreName
from ragbed.testbeds.closed_book import CLOSED_BOOK, NO_DOCUMENTS
from ragbed.testbeds.conflict import CONFLICT
from ragbed.testbeds.counterfactual import COUNTERFACTUAL
from ragbed.testbeds.given import GIVEN
from ragbed.testbeds.injection import INJECTION
from ragbed.testbeds.integration import INTEGRATION
from ragbed.testbeds.length import LENGTH
from ragbed.testbeds.noise import NOISE, REJECTION
from ragbed.testbeds.own_rag import OWN_RAG
from ragbed.testbeds.search.testbed import SEARCH
from ragbed.testbeds.settings import Settings


class Testbed(Protocol):
    """The interface of a testbed, which generates cases from a dataset."""

    @property
    def name(self) -> str:
        """The name used in options, cases and tables."""

    def cases(self, dataset: Dataset, settings: Settings) -> Iterator[Case]:
        """Yield the cases for a dataset."""


class BuiltinTestbed(Testbed, Protocol):
    """A testbed that declares its headline metric."""

    @property
    def headline(self) -> ScoreName:
        """The score whose rate is the headline metric; a trial is a success if this score is true."""

    @property
    def secondary(self) -> tuple[ScoreName, ...]:
        """Other scores for which a higher rate is better."""


TESTBEDS: dict[str, BuiltinTestbed] = {
    "noise": NOISE,
    "rejection": REJECTION,
    "integration": INTEGRATION,
    "counterfactual": COUNTERFACTUAL,
    "conflict": CONFLICT,
    "length": LENGTH,
    "closed-book": CLOSED_BOOK,
    "given": GIVEN,
    "no-documents": NO_DOCUMENTS,
    "own-rag": OWN_RAG,
    "search": SEARCH,
    "injection": INJECTION,
}
# The testbeds in which a system retrieves the documents itself.
WITHOUT_DOCUMENTS = ("own-rag", "search")
DEFAULT_TESTBEDS = ("noise", "rejection", "integration", "counterfactual", "closed-book", "given")


def headline_score(testbed: str, arm: str = "") -> ScoreName:
    """Return the score whose rate is a testbed's headline metric; for plug-in testbeds, this score is `correct`.

    The headline metric of the condition `withheld` differs from its testbed's.
    """
    if testbed in WITHOUT_DOCUMENTS and arm == "withheld":
        return "refused"
    return TESTBEDS[testbed].headline if testbed in TESTBEDS else "correct"


def wanted_scores(testbed: str) -> tuple[ScoreName, ...]:
    """Return all of a testbed's scores for which a higher rate is better, starting with the headline score."""
    secondary = TESTBEDS[testbed].secondary if testbed in TESTBEDS else ()
    return (headline_score(testbed), *secondary)


def right_score(testbed: str, arm: str, expect: str) -> ScoreName:
    """Return the score that must be true for a trial of such a case to count as a success.

    This is the testbed's headline score. Plug-in testbeds do not declare one, so for them the score depends on the
    expected behaviour.
    """
    if testbed not in TESTBEDS and expect == "refuse":
        return "refused"
    return headline_score(testbed, arm)


def find_testbed(name: str) -> Testbed:
    """Return the built-in or plug-in testbed with the given name.

    Raises:
        PluginFailed: The testbed declares a different name, so its cases could be mistaken for another testbed's.
    """
    testbed = find_part(plugins.TESTBEDS, name, TESTBEDS)
    if testbed.name != name:
        raise PluginFailed(
            f"the testbed registered as {name!r} is named {testbed.name!r} in its code; the two names must match."
        )
    return testbed
