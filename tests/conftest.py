"""Fixtures of all tests: a browser, and the folder of RGB's published files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ragbed.data.catalog import CATALOG, folder_of
from ragbed.environment import data_dir
from tests.browser import browser

__all__ = ["browser"]  # a fixture of all tests of pages

_ROOT = Path(__file__).parent.parent
_LONGEST = (
    "docs/test_blocks.py",
    "test_recordings.py",
    "builder/test_pipeline.py",
    "cli/test_build.py",
    "runs/engines/test_ray.py",
    "models/local/test_llamacpp.py",
    "reporting/html/test_page.py",
    "ui/viewer/test_browser.py",
    "scoring/robust/test_answer_formats.py",
    "study/test_recordings.py",
    "cli/test_demo.py",
    "cli/test_planted.py",
    "docs/test_first_commands.py",
    "test_release.py",
    "docs/test_ci_example.py",
    "analysis/metrics/test_scripted.py",
    "builder/web/test_extract.py",
    "models/test_search_agents.py",
    "ui/review/test_browser.py",
    "docs/test_site.py",
    "cli/test_surroundings.py",
    "test_plugins.py",
    "cli/test_synth.py",
)
"""The files that take longest. `make test` starts them first, so that no worker has one of them left at the end."""


def pytest_configure(config: pytest.Config) -> None:
    """Configure hypothesis, and fail if `scripts/isolated` runs the tests and finds something that could help them."""
    if config.pluginmanager.hasplugin("hypothesispytest"):
        from hypothesis import HealthCheck, settings  # noqa: PLC0415  # the smaller environments do not have it

        # How long hypothesis and a test take depends on the load of the machine, not only on the code.
        settings.register_profile("ragbed", suppress_health_check=[HealthCheck.too_slow], deadline=None)
        settings.load_profile("ragbed")
    if os.environ.get("ISOLATED") and not hasattr(config, "workerinput"):
        found = [str(path) for name in ("HOME", "TMPDIR") for path in Path(os.environ[name]).iterdir()]
        if found:
            raise pytest.UsageError(f"the tests must start without leftovers, but there is {', '.join(found)}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the files that take longest to the front."""
    places = {_ROOT / "tests" / name: place for place, name in enumerate(_LONGEST)}
    items.sort(key=lambda item: places.get(item.path, len(places)))


def _find_rgb() -> Path:
    """Return the folder of RGB's data: RAGBED_RGB_DIR, the one beside the checkout, or where it was downloaded to."""
    beside = _ROOT.parent / "shared" / "rgb-data"
    if named := os.environ.get("RAGBED_RGB_DIR"):
        return Path(named)
    return beside if beside.exists() else folder_of(CATALOG["rgb"], data_dir())


_RGB_DIR = _find_rgb()  # before a test changes the environment


def _need(path: Path, what: str) -> Path:
    """Return the path, or skip the test where it does not exist; fail in CI."""
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(what)
        pytest.skip(what)
    return path


@pytest.fixture(scope="session")
def rgb_dir() -> Path:
    return _need(
        _RGB_DIR, f"needs RGB's data, and {_RGB_DIR} does not exist: run `ragbed data get rgb`, or set RAGBED_RGB_DIR"
    )


@pytest.fixture(scope="session")
def en_top4(rgb_dir: Path) -> Path:
    """Return an excerpt of English documents, which is not among RGB's published files."""
    return _need(rgb_dir / "en_top4.jsonl", f"needs en_top4.jsonl, which RGB does not publish; not in {rgb_dir}")


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in os.environ:
        if name.startswith("RAGBED_") and name != "RAGBED_RGB_DIR":
            monkeypatch.delenv(name)
