"""What all tests share: where RGB's published files lie, and small items to build on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragbed.schema import Item, Passage

_ROOT = Path(__file__).parent.parent


def _shared(folder: str) -> Path:
    """RGB's files are not ours to ship: CI has them beside the checkout, others name them or skip."""
    named = os.environ.get("RAGBED_RGB_DIR")
    path = Path(named).parent / folder if named else _ROOT.parent / "shared" / folder
    if not path.is_dir():
        message = f"{folder} is not here; name RGB's data folder by RAGBED_RGB_DIR to run this test"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def rgb_dir() -> Path:
    return _shared("rgb-data")


@pytest.fixture(scope="session")
def golden_dir() -> Path:
    return _shared("golden")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("RAGBED_") and name != "RAGBED_RGB_DIR":
            monkeypatch.delenv(name)


def base_item(number: int = 0, supports: int = 6, distracts: int = 6, **changes: object) -> Item:
    """An item of the base kind whose passages say what they are."""
    fields: dict[str, object] = {
        "id": str(number),
        "question": f"What is the answer to question {number}?",
        "lang": "en",
        "answer": ((f"gold-{number}-gold",),),
        "passages": (
            *(Passage(text=f"Q{number} S{i}: it is gold-{number}-gold.", stance="supports") for i in range(supports)),
            *(Passage(text=f"Q{number} D{i}: nobody knows.", stance="distracts") for i in range(distracts)),
        ),
    }
    return Item(**(fields | changes))  # type: ignore[arg-type]
