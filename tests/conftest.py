"""What all tests share: a browser, and where RGB's published files lie."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.browser import browser

__all__ = ["browser"]  # a fixture of all tests of pages

_ROOT = Path(__file__).parent.parent


def pytest_configure(config: pytest.Config) -> None:
    """Fail if `scripts/isolated` runs the tests and something is there that could help them."""
    if os.environ.get("ISOLATED") and not hasattr(config, "workerinput"):
        found = [str(path) for name in ("HOME", "TMPDIR") for path in Path(os.environ[name]).iterdir()]
        if found:
            raise pytest.UsageError(f"the tests must start without leftovers, but there is {', '.join(found)}")


def _needed(path: Path) -> Path:
    """RGB's files are not ours to ship: CI has them beside the checkout, others name their folder or skip."""
    if not path.exists():
        message = f"{path.name} is not here; name the folder of RGB's data by RAGBED_RGB_DIR to run this test"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return path


@pytest.fixture(scope="session")
def rgb_dir() -> Path:
    named = os.environ.get("RAGBED_RGB_DIR")
    return _needed(Path(named) if named else _ROOT.parent / "shared" / "rgb-data")


@pytest.fixture(scope="session")
def en_top4(rgb_dir: Path) -> Path:
    """An excerpt of English documents, which is no file of RGB's own."""
    return _needed(rgb_dir / "en_top4.jsonl")


@pytest.fixture(scope="session")
def golden_dir(rgb_dir: Path) -> Path:
    """What the original code made of the data, as hashes."""
    return _needed(rgb_dir.parent / "golden")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("RAGBED_") and name != "RAGBED_RGB_DIR":
            monkeypatch.delenv(name)
