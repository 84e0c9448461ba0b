"""`ragbed report -f site`: a site from runs whose scores are known."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from msgspec.structs import replace

from tests.browser import open_page
from tests.cli.typed import Done, type_command
from tests.payloads import PAYLOADS
from tests.reporting.html.evil import REPLIES, write_evil_run
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One model that is always right, one that never is, and one hostile run."""
    folder = tmp_path_factory.mktemp("runs")
    cases = [make_case(number) for number in range(4)]
    write_run(folder / "right", cases, {"m/right": [said(f"gold-{number}") for number in range(4)]})
    write_run(folder / "wrong", cases, {"m/wrong": [said("silver") for _ in range(4)]})
    write_evil_run(folder)
    return folder


@pytest.fixture(scope="module")
def site(runs: Path) -> Path:
    done = _write(runs, runs / "site")
    assert (done.code, done.err) == (0, f"Leaderboard of 3 runs written to {runs / 'site' / 'index.html'}.\n")
    return runs / "site"


def _write(runs: Path, site: Path, *options: str) -> Done:
    return type_command("report", str(runs), "-f", "site", "-o", str(site), *options)


def test_every_run_has_a_row_that_leads_to_its_report(browser: Browser, site: Path) -> None:
    with open_page(browser, "file://") as watched:
        page = watched.page
        page.goto((site / "index.html").as_uri())
        page.wait_for_selector("html[data-ready]")
        page.get_by_role("button", name="lowest noise").click()
        rows = page.locator("main:not([hidden]) table.sortable tbody tr").all_inner_texts()
        place = {name: next(at for at, row in enumerate(rows) if name in row) for name in ("m/right", "m/wrong")}
        assert place["m/right"] < place["m/wrong"]
        page.get_by_role("link", name="right").click()
        page.wait_for_selector("html[data-ready] #cases .filters")
        assert "m/right" in page.locator("main:not([hidden])").inner_text()
        watched.assert_harmless()


def test_a_run_without_a_row_is_listed_with_its_report(browser: Browser, tmp_path: Path) -> None:
    case = replace(make_case(1), testbed="conflict")
    write_run(tmp_path / "runs" / "odd", [case], {"m/odd": [said("gold-1")]})
    assert _write(tmp_path / "runs", tmp_path / "site").code == 0
    with open_page(browser, "file://") as watched:
        page = watched.page
        page.goto((tmp_path / "site" / "index.html").as_uri())
        page.wait_for_selector("html[data-ready]")
        page.get_by_role("link", name="odd").click()
        page.wait_for_selector("html[data-ready] #cases .filters")


def test_no_payload_runs_on_the_board(browser: Browser, site: Path) -> None:
    with open_page(browser, "file://") as watched:
        watched.page.goto((site / "index.html").as_uri())
        watched.page.wait_for_selector("html[data-ready]")
        told = watched.page.locator("main:not([hidden])").inner_text()
        assert REPLIES in told
        assert PAYLOADS[5].replace("/", "|") in told
        watched.assert_harmless()


def test_an_unknown_scorer_does_not_replace_the_site(runs: Path, site: Path) -> None:
    before = (site / "index.html").read_bytes()
    done = _write(runs, site, "--scorer", "robsut")
    assert (done.code, "robsut" in done.err) == (2, True)
    assert (site / "index.html").read_bytes() == before


def test_a_folder_without_runs_is_a_usage_error(tmp_path: Path) -> None:
    done = _write(tmp_path, tmp_path / "site")
    assert (done.code, "contains no run" in done.err) == (2, True)


def test_a_run_that_cannot_be_read_is_an_error_before_anything_is_written(tmp_path: Path) -> None:
    write_run(tmp_path / "runs" / "right", [make_case(1)], {"m/right": [said("gold-1")]})
    (tmp_path / "runs" / "broken").mkdir()
    (tmp_path / "runs" / "broken" / "run.sqlite").write_bytes(b"no database at all")
    done = _write(tmp_path / "runs", tmp_path / "site")
    assert (done.code, "broken" in done.err, (tmp_path / "site").exists()) == (1, True, False)
