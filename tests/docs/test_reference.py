"""Pages that follow from the code are as the code is."""

from __future__ import annotations

import pytest

from scripts.write_reference import write_pages
from tests.docs.blocks import ROOT

PAGES = write_pages()


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_current(name: str) -> None:
    path = ROOT / name
    assert path.exists(), f"{name} is not there; type `make reference`"
    assert path.read_text("utf-8") == PAGES[name], f"{name} is not as the code is; type `make reference`"
