"""The single-file report in a real browser."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from tests.browser import CONTRAST, Watched, open_page
from tests.cli.typed import type_command
from tests.payloads import PAYLOADS
from tests.reporting.html.evil import REPLIES, write_evil_run
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def ask(*words: str) -> int:
    """Types a command that asks models, in a separate process: the browser's driver has a loop in this one."""
    return subprocess.run(
        [sys.executable, "-m", "ragbed", *words, "--cache", "off"], capture_output=True, check=False
    ).returncode


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The oracle and the model that repeats its last document, a few questions of every kind and language."""
    folder = tmp_path_factory.mktemp("html") / "run"
    words = ["run", "-m", "scripted/oracle", "-m", "scripted/last-doc", "--limit", "4", "--positions", "all"]
    for data in ("en_base", "en_int", "en_fact", "zh_base"):
        words += ["-d", f"ragbed-mini-{data}"]
    assert ask(*words, "--out", str(folder)) == 0
    return folder


@pytest.fixture(scope="module")
def report(run: Path) -> Path:
    target = run.parent / "report.html"
    done = type_command("report", str(run), "-f", "html", "-o", str(target))
    assert (done.code, "Open it in a browser" in done.err) == (0, True)
    return target


@pytest.fixture(scope="module")
def evil(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evil")
    run = write_evil_run(folder)
    assert type_command("report", str(run), "-f", "html", "-o", str(folder / "report.html")).code == 0
    return run


@contextmanager
def open_report(browser: Browser, report: Path, **how: Any) -> Iterator[Watched]:
    """A report that is ready; nothing ran in it that is not ours."""
    with open_page(browser, "file://", **how) as watched:
        watched.page.goto(report.as_uri())
        watched.page.wait_for_selector("html[data-ready]")
        yield watched
        watched.assert_harmless()


@pytest.fixture
def opened(browser: Browser, report: Path) -> Iterator[Watched]:
    with open_report(browser, report) as watched:
        yield watched


def test_it_opens_with_all_its_parts(opened: Watched, run: Path) -> None:
    page = opened.page
    headings = page.locator("main:not([hidden]) h2").all_inner_texts()
    assert headings == ["Summary", "Figures", "Leaderboard", "Tables", "Error analysis", "Metrics and method"]
    assert page.locator("h2:visible").last.inner_text() == "Cases"
    assert page.locator("main:not([hidden]) figure svg[role=img]").count() >= 7
    assert page.locator("#en-errors figure").count() >= 1  # few answers are wrong, so they are diagnosed
    assert f"Runs: {run.name}." in page.locator("main:not([hidden]) .runs").inner_text()


def test_it_opens_with_the_findings_about_each_model_and_cases_of_the_biggest_failure(opened: Watched) -> None:
    cards = opened.page.locator("#en-summary .card")
    assert cards.locator("h3").all_inner_texts() == ["scripted/last-doc", "scripted/oracle"]
    assert "the model correctly refuses 100% [" in cards.nth(1).inner_text()
    assert "Accuracy stays at 100% [" in cards.nth(1).inner_text()
    assert " of 4 questions" in cards.nth(0).inner_text()
    assert cards.nth(0).locator("strong").all_inner_texts() == ["English:", "Chinese:"]
    first = cards.nth(0).locator("li").all_inner_texts()
    assert first[0].startswith(("False documents mislead the model on 100%", "When no document contains the answer,"))
    examples = opened.page.locator("#en-summary a")
    assert examples.count() == 3
    examples.first.click()
    opened.page.wait_for_selector(".case")
    assert "scripted/last-doc" in opened.page.locator(".replies .trial").first.inner_text()


def test_only_the_metrics_that_are_shown_are_defined(opened: Watched) -> None:
    defined = set(opened.page.locator("#en-method td code").all_text_contents())
    assert {"accuracy", "refusal_recall", "misled_at_all"} <= defined
    assert not {"false_alarm", "retrieval_recall", "testbed_gain", "judged"} & defined
    assert "`" not in (opened.page.locator("#en-method").text_content() or "")


@pytest.mark.parametrize(("locale", "title"), [("zh-CN", "摘要"), ("de-DE", "Summary")])
def test_it_opens_in_the_language_of_the_browser(browser: Browser, report: Path, locale: str, title: str) -> None:
    context = browser.new_context(locale=locale)
    page = context.new_page()
    page.goto(report.as_uri())
    page.wait_for_selector("html[data-ready]")
    assert page.locator("main:not([hidden]) h2").first.inner_text() == title
    assert page.title() == page.locator("main:not([hidden]) h1").inner_text()
    page.locator("main:not([hidden]) button.language").click()
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("main:not([hidden]) h2").first.inner_text() != title
    context.close()


def test_words_overrides_the_language_of_the_browser(browser: Browser, run: Path, tmp_path: Path) -> None:
    target = tmp_path / "zh.html"
    assert type_command("report", str(run), "-f", "html", "--locale", "zh", "-o", str(target)).code == 0
    with open_report(browser, target) as watched:
        assert watched.page.locator("main:not([hidden]) h2").first.inner_text() == "摘要"


def test_every_figure_has_a_name_and_its_numbers(opened: Watched) -> None:
    for figure in opened.page.locator("main:not([hidden]) figure").all():
        assert figure.locator("svg > title").text_content()
        assert figure.locator("svg > desc").text_content()
        assert figure.locator("details tbody tr").count() > 0


def test_a_heading_sorts_the_leaderboard(opened: Watched) -> None:
    page = opened.page
    page.get_by_role("button", name="highest noise").press("Enter")
    column = page.locator("main:not([hidden]) table.sortable th", has_text="highest noise")
    assert column.get_attribute("aria-sort") == "descending"
    first = page.locator("main:not([hidden]) table.sortable tbody tr").first
    assert "scripted/oracle" in first.inner_text()
    page.get_by_role("button", name="highest noise").press("Enter")
    assert "scripted/last-doc" in first.inner_text()


def test_cases_are_filtered_searched_and_opened(opened: Watched) -> None:
    page = opened.page
    status = page.locator("#cases [role=status]")
    everything = status.inner_text()
    page.get_by_label("Testbed").select_option(label="rejection")
    page.get_by_label("Model", exact=True).select_option(label="scripted/oracle")
    assert status.inner_text() != everything
    assert set(page.locator("#cases ol.trials .tag").all_inner_texts()) == {"refused"}
    page.get_by_role("searchbox").fill("no question has this")
    expect(page.get_by_text("No matches")).to_be_visible()
    page.get_by_role("searchbox").fill("")
    page.locator("#cases a.trial-row").first.click()
    page.wait_for_selector(".case")
    assert page.locator(".replies .trial").count() == 2
    assert re.search(r"#case-\d+$", page.url)


def test_a_case_begins_with_the_response_that_was_opened(opened: Watched) -> None:
    page = opened.page
    page.get_by_label("Model", exact=True).select_option(label="scripted/last-doc")
    page.locator("#cases a.trial-row").first.click()
    page.wait_for_selector(".case")
    assert page.locator(".replies .trial .model").all_inner_texts() == ["scripted/last-doc", "scripted/oracle"]


def test_a_case_that_was_left_while_it_was_unpacked_is_not_shown(opened: Watched) -> None:
    page = opened.page
    page.evaluate("""async () => {
        location.hash = "#case-0";
        await new Promise((done) => addEventListener("hashchange", done, { once: true }));
        location.hash = "#cases";
        await new Promise((done) => setTimeout(done, 1000));
    }""")
    assert page.locator("#cases .filters").count() == 1
    assert page.locator("#cases .case").count() == 0


def test_values_of_filters_are_in_order_and_rounded(browser: Browser, tmp_path: Path) -> None:
    cases = [replace(make_case(number), noise=noise) for number, noise in enumerate((2 / 3, 0.0), 1)]
    write_run(tmp_path / "run", cases, {name: [said("gold-1"), said("gold-2")] for name in ("paper", "a")})
    target = tmp_path / "report.html"
    assert type_command("report", str(tmp_path / "run"), "-f", "html", "-o", str(target)).code == 0
    with open_report(browser, target) as watched:
        assert watched.page.get_by_label("Noise").locator("option").all_inner_texts() == ["All", "0", "0.667"]
        models = watched.page.get_by_label("Model", exact=True).locator("option")
        assert models.all_inner_texts() == ["All", "a", "paper"]
        assert "0.667 ·" in watched.page.locator("#cases ol.trials").inner_text()
        watched.page.get_by_role("button", name="中文").click()
        models = watched.page.get_by_label("模型", exact=True).locator("option")
        assert models.all_inner_texts() == ["全部", "a", "paper"]  # a name, not the scorer


def test_a_case_can_be_linked_to_and_left_with_a_key(opened: Watched, report: Path) -> None:
    page = opened.page
    page.goto(f"{report.as_uri()}#case-3")
    page.wait_for_selector(".case")
    shown = page.locator(".case h1").inner_text()
    page.reload()
    page.wait_for_selector(".case")
    assert page.locator(".case h1").inner_text() == shown
    page.keyboard.press("Escape")
    page.wait_for_selector("#cases .filters")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.type") == "search"


def test_the_list_returns_to_the_case_that_was_left(opened: Watched) -> None:
    page = opened.page
    page.get_by_role("button", name="More").click()
    row = page.locator(".trial-row").nth(70)
    link = str(row.get_attribute("href"))
    row.click()
    page.wait_for_selector(".case")
    page.go_back()
    expect(page.locator(".trial-row")).to_have_count(100)
    expect(page.locator(f'a[href="{link}"]')).to_be_focused()
    expect(page.locator(f'a[href="{link}"]')).to_be_in_viewport()


def test_a_report_of_an_empty_run_has_no_filter_to_remove(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "run", [make_case(1)], {})
    target = tmp_path / "report.html"
    assert type_command("report", str(tmp_path / "run"), "-f", "html", "-o", str(target)).code == 0
    with open_page(browser, "file://") as watched:
        watched.page.goto(target.as_uri())
        expect(watched.page.locator("#cases ol")).to_have_text("No results to show yet.")


def test_keys_go_from_case_to_case(opened: Watched) -> None:
    page = opened.page
    page.keyboard.press("j")
    page.wait_for_selector(".case")
    first = page.url
    page.keyboard.press("j")
    page.wait_for_function("first => location.href !== first", arg=first)
    page.wait_for_selector(".case")
    page.keyboard.press("k")
    page.wait_for_function("first => location.href === first", arg=first)


def test_the_prompt_is_the_one_that_was_sent(opened: Watched, run: Path, report: Path) -> None:
    page = opened.page
    assert type_command("export", str(run), "--to", "jsonl", "-o", str(run.parent / "trials.jsonl")).code == 0
    trials = map(json.loads, (run.parent / "trials.jsonl").read_text("utf-8").splitlines())
    sent = {trial["messages"][-1]["content"] for trial in trials}
    for number in range(0, 40, 7):
        page.goto(f"{report.as_uri()}#case-{number}")
        page.wait_for_selector(".case")
        assert page.locator(".prompt .text").last.text_content() in sent


def test_the_page_can_be_switched_to_chinese(opened: Watched) -> None:
    page = opened.page
    page.get_by_role("button", name="中文").click()
    assert page.locator("main:not([hidden]) h2").first.inner_text() == "摘要"
    assert page.get_attribute("html", "lang") == "zh-Hans"
    assert page.get_by_role("searchbox").get_attribute("placeholder") == "搜索问题"
    assert page.get_by_label("语言", exact=True).locator("option").all_inner_texts() == ["全部", "英文", "中文"]
    assert "噪声鲁棒性" in (page.locator("main:not([hidden]) figure svg > title").first.text_content() or "")
    page.get_by_role("button", name="English").click()
    assert page.locator("main:not([hidden]) h2").first.inner_text() == "Summary"


@pytest.mark.parametrize("dark", [False, True])
def test_light_and_dark_follow_the_system_and_the_button(browser: Browser, report: Path, dark: bool) -> None:
    with open_report(browser, report, dark=dark) as watched:

        def is_dark() -> bool:
            style = "getComputedStyle(document.documentElement)"
            colours = watched.page.evaluate(f"[{style}.color, {style}.backgroundColor]")
            ink, paper = (sum(map(int, re.findall(r"\d+", colour)[:3])) for colour in colours)
            return ink > paper

        assert is_dark() is dark
        button = watched.page.locator("main:not([hidden]) button.theme")
        button.click()
        assert not is_dark()
        button.click()
        assert is_dark()


def test_nothing_is_wider_than_a_phone(browser: Browser, report: Path) -> None:
    with open_page(browser, "file://", width=390) as watched:
        for place in ("", "#case-1"):
            watched.page.goto(report.as_uri() + place)
            watched.page.wait_for_selector("html[data-ready]")
            watched.page.wait_for_selector(".case" if place else ".filters")
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= 390
        watched.assert_harmless()


def test_the_leaderboard_needs_no_scrolling_on_a_phone(browser: Browser, report: Path) -> None:
    with open_report(browser, report, width=390) as watched:
        table = watched.page.locator("main:not([hidden]) table.sortable")
        ends = "node => [...node.querySelectorAll('td, td span')].map((one) => one.getBoundingClientRect().right)"
        assert 300 < max(table.evaluate(ends)) <= 390
        cell = table.locator("td[data-label='accuracy at the highest noise ratio']").first
        label = cell.evaluate("node => getComputedStyle(node, '::before').content")
        assert label == '"accuracy at the highest noise ratio"'
        table.get_by_role("button", name="highest noise").click()
        assert "scripted/oracle" in table.locator("tbody tr").first.inner_text()


def test_texts_have_contrast_on_both_grounds(browser: Browser, report: Path) -> None:
    for dark in (False, True):
        with open_report(browser, report, dark=dark) as watched:
            assert watched.page.evaluate(CONTRAST) == []


def test_it_prints_with_all_that_is_folded(opened: Watched) -> None:
    page = opened.page
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("main:not([hidden]) details:not([open])").count() == 0
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("main:not([hidden]) details[open]").count() == 0
    page.emulate_media(media="print")
    expect(page.locator("#cases")).to_be_hidden()
    assert len(page.pdf()) > 10_000


def test_everything_except_the_cases_works_without_javascript(browser: Browser, report: Path) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(report.as_uri())
    assert page.locator("main:not([hidden]) figure").count() >= 7
    expect(page.get_by_text("needs JavaScript").first).to_be_visible()
    context.close()


def test_no_payload_runs_and_every_one_is_seen(browser: Browser, evil: Path) -> None:
    assert len(PAYLOADS) >= 100
    with open_report(browser, evil.parent / "report.html") as watched:
        page = watched.page
        assert REPLIES in page.locator("#en-leaderboard").inner_text()
        assert evil.name in page.locator("main:not([hidden]) .runs").inner_text()
        assert "[object" not in page.locator("#cases ol.trials").inner_text()
        seen: set[str] = set()
        for number in range(page.evaluate("JSON.parse(document.getElementById('index').textContent).trials.length")):
            page.evaluate(f"location.hash = '#case-{number}'")
            page.wait_for_selector(f"#cases[data-at='{number}'] .case")
            told = page.locator("#cases").evaluate("node => node.textContent")
            seen |= {payload for payload in PAYLOADS if _is_whole(told, payload)}
            if len(seen) == len(PAYLOADS):
                break
        assert seen == set(PAYLOADS)


def _is_whole(told: str, payload: str) -> bool:
    """Question, answers, documents, prompt, reply, error, judge's text and diagnosis all show it."""
    case = ("question?", "gold", "fake", "document one", "document two")
    after = (*case, "gold reply", "question? said by the judge", "as evidence")
    return all(f"{payload} {word}" in told for word in after) and f"server: {payload}" in told


@pytest.mark.parametrize("format_", ["text", "md", "csv", "json"])
def test_no_control_sequence_reaches_the_terminal(tmp_path: Path, format_: str) -> None:
    evil = "\x1b]0;owned\x07\x1b[31m\u202e\x9b31m"
    case = replace(make_case(1), data=f"data {evil}", profile=evil)
    write_run(tmp_path / "run", [case], {f"m {evil}": [said(f"gold-1 {evil}")]})
    told = type_command("report", str(tmp_path / "run"), "-f", format_)
    assert told.code == 0
    assert "owned" in told.out
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", told.out + told.err)


def test_csv_of_a_hostile_run_has_no_formulas(evil: Path) -> None:
    for row in csv.reader(type_command("report", str(evil), "-f", "csv").out.splitlines()):
        assert not [cell for cell in row if cell[:1] in ("=", "+", "@", "\t", "\r")]
        assert not [cell for cell in row if cell.startswith("-") and not re.fullmatch(r"-?[\d.e-]+", cell)]
