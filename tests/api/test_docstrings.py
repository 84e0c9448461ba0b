"""Every public name has a docstring with an example; the examples are run as blocks of docs/reference/api.md."""

from __future__ import annotations

import inspect

import pytest

import ragbed
from tests.docs.blocks import ROOT


def _names() -> list[str]:
    members = [
        f"Run.{name}" for name in vars(ragbed.Run) if not name.startswith("_") and name not in ("folder", "gates")
    ]
    return sorted({*ragbed.__all__, *members})


@pytest.mark.parametrize("name", _names())
def test_a_public_name_has_a_docstring_with_an_example(name: str) -> None:
    documented: object = ragbed
    for part in name.split("."):
        documented = getattr(documented, part)
    text = inspect.getdoc(documented) or ""
    assert ">>> " in text or text == "Not available yet."
    assert f" ragbed.{name}\n" in _PAGE or f"# {name}\n" in _PAGE


_PAGE = (ROOT / "docs/reference/api.md").read_text("utf-8")
