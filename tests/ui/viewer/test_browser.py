"""The viewer as a person uses it, in a real browser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest
from msgspec.structs import replace
from playwright.sync_api import expect

from ragbed.analysis.judging.judge_run import LabelledUnit
from ragbed.analysis.judging.labels import Label, read_labels
from ragbed.runs.lock import hold
from ragbed.schema import Completion
from tests.browser import Watched, open_page
from tests.runs.harness import make_case
from tests.ui.viewer.runs import CASES, REPLIES, add_replies, said, write_run
from tests.ui.viewer.served import Served, serve_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator, Page


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "cup"
    write_run(folder, CASES, REPLIES)
    (folder / "diagnose").mkdir()
    evidence = {"type": "E9", "document": 2, "start": 0, "end": 9, "part": 0, "cue": "2020 → 2018"}
    record = {"case": CASES[0].case, "model": "made/misled", "repeat": 0, "types": ["E9"], "evidence": [evidence]}
    (folder / "diagnose" / "errors.jsonl").write_text(json.dumps(record) + "\n")
    return folder


@pytest.fixture(scope="module")
def served(run: Path) -> Iterator[Served]:
    with serve_runs(run) as started:
        started.wait_for(9)
        yield started


@pytest.fixture
def watched(browser: Browser, served: Served) -> Iterator[Watched]:
    with open_page(browser, served.origin) as opened:
        enter(opened.page, served)
        yield opened
        opened.assert_harmless()


def enter(page: Page, served: Served) -> None:
    page.goto(served.address)
    page.wait_for_selector("main[data-drawn]")


@contextmanager
def viewing(browser: Browser, runs: Path, trials: int = 0) -> Iterator[tuple[Page, Served]]:
    """A viewer that has read this many results; nothing ran in its page that is not ours."""
    with serve_runs(runs) as served, open_page(browser, served.origin) as opened:
        served.wait_for(trials)
        enter(opened.page, served)
        yield opened.page, served
        opened.assert_harmless()


def rows(page: Page) -> Locator:
    return page.locator(".trial-row")


def press_facet(page: Page, facet: str, value: str) -> None:
    page.get_by_role("group", name=facet, exact=True).get_by_role("button", name=value).click()


def test_the_printed_url_opens_the_verdict_and_the_worst_questions_and_loses_its_token(
    watched: Watched, served: Served
) -> None:
    page = watched.page
    assert served.token not in page.url
    assert "Overview" in page.inner_text("h1")
    assert "made/misled" in page.inner_text("table.overview")
    assert page.locator(".verdicts .card li").count() >= 3
    assert "Questions with the most wrong responses" in page.inner_text("main")
    worst = page.locator(".trial-row").all_inner_texts()
    assert ["wrong in 2 of 3" in row for row in worst] == [True, True, False]
    assert "wrong in 1 of 3" in worst[2]
    rows(page).first.click()
    page.wait_for_selector(".case")


@pytest.mark.parametrize(("lang", "names"), [("en", ["truncated", "filtered"]), ("zh", ["被截断", "被过滤"])])
def test_the_overview_has_columns_for_truncated_and_filtered_cases_if_there_are_any(
    browser: Browser, tmp_path: Path, lang: str, names: list[str]
) -> None:
    cases = [make_case(number) for number in range(4)]
    lost = [Completion(outcome="filtered"), Completion(outcome="filtered"), Completion(outcome="truncated", reply="")]
    write_run(tmp_path / "run", cases, {"made/up": [said("gold-0"), *lost]})
    with viewing(browser, tmp_path / "run", 4) as (page, _):
        if lang == "zh":
            page.get_by_role("button", name="中文").click()
            page.wait_for_selector("h1:has-text('总览')")
        headings = page.locator("table.overview th.number").all_inner_texts()
        place = headings.index(names[0])
        assert headings[place : place + 2] == names
        counts = page.locator("table.overview tbody td.number")
        assert counts.all_inner_texts()[place : place + 2] == ["1", "2"]
        counts.nth(place + 1).get_by_role("link").click()
        page.wait_for_selector(".trial-row")
        expect(rows(page)).to_have_count(2)


def test_the_overview_has_no_columns_that_are_zero_or_the_same_in_all_rows(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "run", [make_case(0)], {"made/up": [said("gold-0")]})
    with viewing(browser, tmp_path / "run", 1) as (page, _):
        assert page.locator("table.overview thead th").all_inner_texts() == ["testbed", "correct %"]
        assert "n = 1 in every row." in page.inner_text("main")
        assert rows(page).count() == 0  # no question has a wrong response


def test_rows_with_other_documents_true_shares_or_profiles_lead_to_their_own_trials(
    browser: Browser, tmp_path: Path
) -> None:
    conditions = [
        (1, 0.0, "robust"), (2, 0.0, "robust"), (2, 0.5, "robust"), (2, 1.0, "robust"), (2, 1.0, "robust+quote")
    ]  # fmt: skip
    cases = [
        replace(make_case(number), case=f"made/{number}/conflict@k={k},correct={correct}", testbed="conflict", k=k,
                true_ratio=correct, profile=profile)
        for number, (k, correct, profile) in enumerate(conditions, 1)
    ]  # fmt: skip
    write_run(tmp_path / "run", cases, {"made/up": [said("gold-1")] * len(cases)})
    with viewing(browser, tmp_path / "run", len(cases)) as (page, _):
        links = page.locator("table.overview td a").filter(has_text="conflict")
        expect(links).to_have_count(len(cases))
        assert "1 document" in page.inner_text("table.overview")
        expect(page.locator("table.overview .group").last).to_contain_text("robust+quote")
        for place in range(len(cases)):
            links.nth(place).click()
            page.wait_for_selector(".trial-row")
            expect(rows(page)).to_have_count(1)
            page.go_back()
            expect(links).to_have_count(len(cases))
        page.get_by_role("link", name="Trials").click()
        shares = page.get_by_role("group", name="Share of true documents").get_by_role("button")
        expect(shares).to_have_text([re.compile("^0 ?2$"), re.compile(r"^0\.5 ?1$"), re.compile("^1 ?2$")])


def test_filters_narrow_the_list_and_are_in_the_url(watched: Watched, browser: Browser, served: Served) -> None:
    page = watched.page
    page.get_by_role("link", name="Trials").click()
    expect(rows(page)).to_have_count(9)
    press_facet(page, "Language", "Chinese")
    expect(page.locator(".trial-row")).to_have_count(3)
    press_facet(page, "Verdict", "incorrect")
    expect(page.locator(".trial-row")).to_have_count(1)
    assert parse_qs(urlsplit(page.url).query) == {"show": ["trials"], "lang": ["zh"], "verdict": ["incorrect"]}
    with open_page(browser, served.origin) as other:  # somebody else is sent the link
        enter(other.page, served)
        other.page.goto(page.url)
        other.page.wait_for_selector(".trial-row")
        assert "陈大文" in rows(other.page).inner_text()
    page.go_back()
    expect(page.locator(".trial-row")).to_have_count(3)


FACETS = (
    *(("Outcome", "error", 1), ("Error type", "filter", 1), ("Misled", "misled", 1), ("Error types", "E9", 1)),
    *(("Noise", "0.4", 3), ("Testbed", "rejection", 3), ("Model", "made/good", 3)),
)


def test_every_facet_filters(watched: Watched, served: Served) -> None:
    page = watched.page
    page.goto(f"{served.origin}/?show=trials")
    for facet, value, count in FACETS:
        press_facet(page, facet, value)
        expect(rows(page)).to_have_count(count)
        page.get_by_role("button", name="Clear filters").click()
        expect(rows(page)).to_have_count(9)


def test_search_finds_words_in_english_and_chinese(watched: Watched) -> None:
    page = watched.page
    found = dict.fromkeys(("marlowe", "28,810", "若水", "林", "tolwell", "石桥"), 3) | {"陈大": 1, "zebra": 0}
    for words, count in found.items():
        page.keyboard.press("/")
        page.keyboard.type(words)
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_have_text("Trials")
        expect(rows(page)).to_have_count(count)
        assert parse_qs(urlsplit(page.url).query)["q"] == [words]
        page.keyboard.press("Escape")  # out of the box


def test_a_case_shows_prompt_response_scores_and_labels(watched: Watched, served: Served) -> None:
    page = watched.page
    page.goto(f"{served.origin}/?show=trials&model=made%2Fmisled&testbed=noise&lang=en")
    rows(page).click()
    page.wait_for_selector(".case")
    assert page.locator(".documents mark.gold").all_inner_texts() == ["Ada Marlowe"]
    assert page.locator(".documents mark.fake").all_inner_texts() == ["Carla Venn"]
    assert page.locator(".documents mark.fake.predicted").all_inner_texts() == ["Carla Venn"]
    assert page.locator(".reply mark.fake").all_inner_texts() == ["Carla Venn"]
    stances = [card.split("\n")[1] for card in page.locator(".documents .card").all_inner_texts()]
    assert stances == ["supports", "distracts", "contradicts"]
    assert page.locator(".documents mark.cue").all_inner_texts() == ["The final"]
    trial = page.locator(".trial").inner_text()
    rules = ("incorrect", "misled", "fake.name.asserted", "“2020 → 2018” · part 1")
    for told in ("made/misled", *rules, "0.41 s", "812 in, 7 out"):
        assert told in trial
    page.get_by_role("button", name="中文").click()
    expect(page.locator(".trial")).to_contain_text("“2020 → 2018” · 第 1 个子问题")
    page.get_by_role("button", name="English").click()
    page.get_by_text("Prompt as sent").click()
    assert "Answer from the documents." in page.locator(".prompt").inner_text()


def test_other_models_are_shown_beside_and_kept_in_the_url(watched: Watched, served: Served) -> None:
    page = watched.page
    page.goto(f"{served.origin}/?show=trials&model=made%2Fgood&testbed=noise&lang=en")
    rows(page).click()
    page.wait_for_selector(".compare")
    page.locator(".compare").get_by_role("button", name="made/misled").click()
    expect(page.locator(".trial")).to_have_count(2)
    page.keyboard.press("c")
    expect(page.locator(".trial")).to_have_count(3)
    page.reload()
    expect(page.locator(".trial")).to_have_count(3)
    assert "no reply within 60 s" in page.locator(".replies").inner_text()


def test_a_label_is_kept_where_the_judge_reads_it(watched: Watched, served: Served, run: Path) -> None:
    page = watched.page
    page.goto(f"{served.origin}/?show=trials&model=made%2Fgood&testbed=rejection")
    rows(page).click()
    page.wait_for_selector(".label")
    unit = LabelledUnit("refusal", "made/good", CASES[2].case, 0)
    page.keyboard.press("y")
    page.wait_for_selector("[data-criterion=refusal][data-label=yes][aria-pressed=true]")
    assert read_labels(run / "labels.jsonl").agreed[unit].value is True
    page.keyboard.press("l")
    page.keyboard.press("n")
    page.wait_for_selector("[data-criterion=refusal][data-label=no][aria-pressed=true]")
    assert read_labels(run / "labels.jsonl").agreed[unit].value is False
    page.keyboard.press("n")
    expect(page.locator(".label [aria-pressed=true]")).to_have_count(0)
    assert read_labels(run / "labels.jsonl").agreed == {}


def test_labelling_from_case_to_case_skips_no_trial(browser: Browser, tmp_path: Path) -> None:
    run, count = tmp_path / "run", 60
    cases = [
        replace(CASES[2], case=f"made/{number}/rejection@noise=1", item=str(number), question=f"Question {number}?")
        for number in range(count)
    ]
    write_run(run, cases, {"made/good": [said("I cannot tell.")] * count})
    drawn = [Label(criterion="refusal", model="made/good", case=case.case, probability=0.5) for case in cases]
    (run / "labels.jsonl").write_bytes(b"".join(msgspec.json.encode(label) + b"\n" for label in drawn))

    def label_and_go_on(page: Page, following: int) -> None:
        page.keyboard.press("y")
        page.wait_for_selector("[data-label=yes][aria-pressed=true]")
        page.keyboard.press("j")
        expect(page.locator("h1")).to_have_text(f"Question {following}?")

    with viewing(browser, run, count) as (page, served):
        page.goto(f"{served.origin}/?show=trials&label=wanted")
        rows(page).nth(47).click()
        page.wait_for_selector(".label")
        for following in (48, 49, 50, 51):  # The list is shorter when its second page is read.
            label_and_go_on(page, following)
        page.keyboard.press("k")
        expect(page.locator("h1")).to_have_text("Question 46?")
        page.goto(f"{served.origin}/?show=trials&label=wanted&offset=100")
        expect(rows(page).last).to_contain_text("Question 59?")


def test_a_case_that_was_not_opened_from_the_list_offers_no_next_case(browser: Browser, tmp_path: Path) -> None:
    noisy = replace(CASES[0], case="made/1/noise@noise=0.8", noise=0.8)
    closed = replace(CASES[0], case="made/1/closed-book@seed=0", testbed="closed-book", noise=None, documents=())
    write_run(tmp_path / "run", [CASES[0], noisy, closed], {"made/good": [said("Ada Marlowe.")] * 3})
    with viewing(browser, tmp_path / "run", 3) as (page, served):
        page.goto(f"{served.origin}/?show=trials")
        rows(page).first.click()
        expect(page.get_by_role("button", name="Next")).to_be_visible()
        expect(page.locator(".others")).to_contain_text("closed book")
        page.locator(".others a", has_text="noise").first.click()
        expect(page.locator(".question")).to_contain_text("noise 0.8")
        expect(page.get_by_role("button", name="Next")).to_have_count(0)


def test_a_label_that_cannot_be_stored_is_reported(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "run", CASES, {"made/good": REPLIES["made/good"]})
    with serve_runs(tmp_path / "run") as served, open_page(browser, served.origin) as opened:
        served.wait_for(3)
        page = opened.page
        enter(page, served)
        page.goto(f"{served.origin}/?show=trials&testbed=rejection")
        rows(page).click()
        page.wait_for_selector(".label")
        (tmp_path / "run" / "labels.jsonl").write_text("something else\n")
        page.keyboard.press("y")
        expect(page.get_by_role("alert")).to_contain_text("not a valid label")
        expect(page.locator(".label [aria-pressed=true]")).to_have_count(0)


def test_the_keyboard_alone_leads_from_case_to_case(watched: Watched) -> None:
    page = watched.page
    page.get_by_role("link", name="Trials").click()
    expect(page.locator("h1")).to_have_text("Trials")  # the overview has rows, too
    page.keyboard.press("j")
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    page.wait_for_selector(".case")
    seen = []
    for _ in range(3):
        seen.append((page.inner_text("h1"), page.inner_text(".trial .model")))
        drawn = page.get_attribute("main", "data-drawn")
        page.keyboard.press("j")
        expect(page.locator("main")).not_to_have_attribute("data-drawn", str(drawn))
    assert len(set(seen)) == 3
    page.keyboard.press("u")
    page.wait_for_selector(".trial-row")
    page.keyboard.press("?")
    assert "back to the list" in page.locator("dialog").inner_text()


def test_the_interface_can_be_switched_to_chinese_and_keeps_it(watched: Watched) -> None:
    page = watched.page
    page.get_by_role("button", name="中文").click()
    expect(page.locator("h1")).to_have_text("总览")
    page.reload()
    expect(page.locator("h1")).to_have_text("总览")


def test_dark_follows_the_system_and_can_be_chosen(browser: Browser, served: Served) -> None:
    ground = "getComputedStyle(document.documentElement).backgroundColor"
    with open_page(browser, served.origin, dark=True) as opened:
        enter(opened.page, served)
        dark = opened.page.evaluate(ground)
        opened.page.get_by_role("button", name="Light/dark theme").click()
        light = opened.page.evaluate(ground)
        opened.assert_harmless()
    assert (dark, light) == ("rgb(21, 23, 26)", "rgb(252, 251, 248)")


@pytest.mark.parametrize("query", ["", "?show=trials", "case"])
def test_nothing_is_wider_than_the_screen_of_a_phone(browser: Browser, served: Served, query: str) -> None:
    with open_page(browser, served.origin, width=375) as opened:
        page = opened.page
        enter(page, served)
        page.goto(f"{served.origin}/{'?show=trials' if query == 'case' else query}")
        page.wait_for_selector("main[data-drawn]")
        if query == "case":
            rows(page).first.click()
            page.wait_for_selector(".case")
        assert page.evaluate("document.documentElement.scrollWidth") <= 375
        opened.assert_harmless()


def test_a_run_in_progress_is_followed(browser: Browser, tmp_path: Path) -> None:
    write_run(tmp_path / "run", CASES, {"made/good": REPLIES["made/good"][:1]})
    with viewing(browser, tmp_path, 1) as (page, _):
        expect(page.locator("table.overview .group")).to_have_count(1)
        with hold(tmp_path / "run"):  # as a run does while it asks
            add_replies(tmp_path / "run", CASES, REPLIES)
            expect(page.locator("table.overview .group")).to_have_count(6)
            expect(page.locator(".work")).to_have_text("run: running, 9 results so far")


def test_new_and_resumed_runs_appear_while_the_viewer_is_open(browser: Browser, tmp_path: Path) -> None:
    with viewing(browser, tmp_path) as (page, served):
        expect(page.locator("main")).to_contain_text("No results to show yet.")
        write_run(tmp_path / "late", CASES, {"made/good": REPLIES["made/good"]})
        expect(page.locator("table.overview")).to_contain_text("late")
        page.get_by_role("link", name="Trials").click()
        expect(rows(page)).to_have_count(3)
        write_run(tmp_path / "later", CASES, {"made/misled": REPLIES["made/misled"]})
        served.wait_for(6)
        page.get_by_role("button", name="Show new results").click()
        expect(rows(page)).to_have_count(6)


def test_a_response_that_replaces_an_error_appears_while_the_viewer_is_open(browser: Browser, tmp_path: Path) -> None:
    failed = Completion(outcome="error", error="timeout: no reply")
    write_run(tmp_path / "run", CASES[:1], {"made/good": [failed]})
    with viewing(browser, tmp_path / "run", 1) as (page, _):
        heading = page.locator("table.overview").get_by_text("errors", exact=True)
        expect(heading).to_have_count(1)
        add_replies(tmp_path / "run", CASES[:1], {"made/good": REPLIES["made/good"]})
        expect(heading).to_have_count(0)


def test_models_are_shown_by_short_names_and_filtered_by_model_string(browser: Browser, tmp_path: Path) -> None:
    models = [f"llamacpp//data/models/qwen-{kind}.gguf" for kind in ("q4_k_m", "q8_0")]
    write_run(tmp_path / "run", CASES, dict(zip(models, REPLIES.values(), strict=False)))
    with viewing(browser, tmp_path / "run") as (page, _):
        expect(page.locator("table.overview")).to_contain_text("qwen-q4_k_m")
        page.get_by_role("link", name="Trials").first.click()
        press_facet(page, "Model", "qwen-q8_0")
        expect(rows(page).first.locator(".model")).to_have_text("qwen-q8_0")
        assert parse_qs(urlsplit(page.url).query)["model"] == [models[1]]
        rows(page).first.click()
        expect(page.locator(".replies .model").first).to_have_text("qwen-q8_0")
        assert "/data/models" not in page.locator("main").inner_text()
