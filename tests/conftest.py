"""What all tests share: where RGB's published files lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

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
