"""The paper's printed errors have the types that it gives them, in English and Chinese."""

from __future__ import annotations

import pytest

from ragbed.analysis.diagnosis.classify import diagnose_trial
from tests.analysis.diagnosis.printed import CHINESE, ENGLISH, Printed


@pytest.mark.parametrize("printed", [*ENGLISH, *CHINESE], ids=lambda printed: printed.name)
def test_a_printed_error_has_the_papers_types(printed: Printed) -> None:
    diagnosis = diagnose_trial(printed.stored(), None)
    assert diagnosis is not None
    assert diagnosis.types == printed.types
