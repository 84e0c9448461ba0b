"""Everything shown is untrusted: payloads in every field stay text, in every view."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

import msgspec
from msgspec.structs import replace
from playwright.sync_api import expect

from ragbed.analysis.judging import FOLDER as JUDGES
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import judge_case
from ragbed.analysis.judging.labels import Label
from ragbed.runs.store import RECORD, CallRequest, StoredResult, open_store
from ragbed.schema import Case, Completion, Document, Message
from tests.browser import Watched, open_page
from tests.payloads import PAYLOADS
from tests.runs.harness import make_case
from tests.ui.viewer.runs import add_replies, said, write_run
from tests.ui.viewer.served import serve_runs

if TYPE_CHECKING:
    from playwright.sync_api import Browser

GO = "link => { history.pushState(null, '', link); dispatchEvent(new PopStateEvent('popstate')); }"
RUN = "<img src=x onerror=alert(1)> run"
"""A folder's name cannot hold a stroke; everything else can hold all payloads."""


def evil_case(number: int, payload: str) -> Case:
    """A case that has a payload in every field that is shown."""
    document = Document(text=f"D {payload}", stance="contradicts", kind=f"K {payload}", source=0, item=f"I {payload}")
    return replace(
        make_case(number),
        case=f"{payload}/{number}/noise",
        data=f"data {payload}",
        item=payload,
        question=f"Q {payload}",
        answer=((f"G {payload}",),),
        fake=((f"F {payload}",),),
        documents=(document,),
        messages=(Message(role="user", content=f"M {payload}"),),
        profile=f"P {payload}",
        arm=f"A {payload}",
    )


def write_evil(folder: Path) -> list[Case]:
    """A run in which every payload is a model too; half of the models fail with it, half say it."""
    cases = [evil_case(number, payload) for number, payload in enumerate(PAYLOADS, 1)]
    write_run(folder, cases, {})
    with open_store(folder, create=True) as store:
        session, models = store.begin_session([(f"model {payload}", "") for payload in PAYLOADS])
        with store.transaction() as connection:
            for number, (payload, case) in enumerate(zip(PAYLOADS, cases, strict=True)):
                failed = Completion(outcome="error", error=f"kind {payload}: {payload}")
                completion = failed if number % 2 else said(f"R {payload}", reasoning=f"T {payload}")
                ask = CallRequest(models[number], number + 1, 0, case)
                connection.execute(RECORD, store.row(ask, session, str(number), completion))
    judge(folder, StoredResult(cases[0], f"model {PAYLOADS[0]}", 0, said(f"R {PAYLOADS[0]}")))
    label = Label(criterion="correct", model=f"model {PAYLOADS[0]}", case=cases[0].case, label=True, rater=PAYLOADS[0])
    (folder / "labels.jsonl").write_bytes(msgspec.json.encode(label) + b"\n")
    records = [
        {"case": case.case, "types": [f"E {payload}"], "evidence": [{"type": "E", "cue": f"W {payload}"}]}
        for case, payload in zip(cases, PAYLOADS, strict=True)
    ]
    (folder / "diagnose").mkdir()
    (folder / "diagnose" / "x.jsonl").write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in records))
    return cases


def judge(folder: Path, stored: StoredResult) -> None:
    """A judge that says a payload of a reply."""
    case = judge_case(CRITERIA["correct"], stored)
    beside = folder / JUDGES / "correct-0"
    beside.mkdir(parents=True)
    with open_store(beside, create=True) as store:
        store.plan({"criterion": "correct"}, [case])
    add_replies(beside, [case], {f"judge {PAYLOADS[0]}": [said(f"J {PAYLOADS[0]} VERDICT: yes")]})


def shown(payload: str) -> str:
    """As a page's text has it: a tab is white space, and other invisible characters are shown by their code."""
    return " ".join(payload.split())


def visit_cases(opened: Watched, cases: list[Case]) -> None:
    page = opened.page
    for number, (payload, case) in enumerate(zip(PAYLOADS, cases, strict=True)):
        where = {"in": RUN, "case": case.case, "by": f"model {payload}", "repeat": "0"}
        page.evaluate(GO, f"?{urlencode(where, quote_via=quote)}")
        page.get_by_role("heading", name=f"Q {payload}", exact=True).wait_for()
        page.locator(".prompt").evaluate("node => { node.open = true; }")
        told = " ".join(page.inner_text("main").split())
        for letter in ("Q", "G", "F", "D", "K", "M", "P", "E", "W", "model", *(("kind",) if number % 2 else ("R",))):
            assert f"{letter} {shown(payload)}" in told, (letter, payload)


def test_payloads_in_every_field_are_text_in_every_view(browser: Browser, tmp_path: Path) -> None:
    assert len(PAYLOADS) >= 100
    cases = write_evil(tmp_path / RUN)
    with serve_runs(tmp_path / RUN, rater=PAYLOADS[3]) as served, open_page(browser, served.origin) as opened:
        served.wait_for(len(PAYLOADS))
        page = opened.page
        page.goto(served.address)
        expect(page.locator("table.overview .group")).to_have_count(len(PAYLOADS))
        overview = " ".join(page.inner_text("main").split())
        assert RUN in overview
        for payload in PAYLOADS:
            assert f"model {shown(payload)}" in overview
        for offset in (0, 50, 100):
            page.goto(f"{served.origin}/?show=trials&offset={offset}")
            page.wait_for_selector(".trial-row")
        assert "Q " in page.inner_text(".trials")
        filtered = urlencode({"show": "trials", "q": PAYLOADS[0], "model": PAYLOADS[1]}, quote_via=quote)
        page.goto(f"{served.origin}/?{filtered}")
        page.wait_for_selector(".empty")
        visit_cases(opened, cases)
        where = {"in": RUN, "case": cases[0].case, "by": f"model {PAYLOADS[0]}", "repeat": "0"}
        page.goto(f"{served.origin}/?" + urlencode(where, quote_via=quote))
        page.get_by_text(f"judge {PAYLOADS[0]}").click()
        assert f"J {PAYLOADS[0]}" in page.inner_text(".trial")
        assert PAYLOADS[0] in page.inner_text(".labels")
        opened.assert_harmless()


def test_direction_and_control_characters_are_shown_by_their_code(browser: Browser, tmp_path: Path) -> None:
    case = replace(make_case(1), question="Who is \u202egro\u202c?")
    reply = "a\u200bb\x1b[31mred\u2066x \U0001f469\u200d\U0001f680 gold-1"
    write_run(tmp_path / "run", [case], {"made/up": [said(reply)]})
    with serve_runs(tmp_path / "run") as served, open_page(browser, served.origin) as opened:
        served.wait_for(1)
        opened.page.goto(served.address)
        opened.page.wait_for_selector("table.overview")
        opened.page.goto(f"{served.origin}/?show=trials")
        opened.page.locator(".trial-row").click()
        opened.page.wait_for_selector(".reply")
        assert opened.page.inner_text("h1") == "Who is U+202EgroU+202C?"
        assert opened.page.inner_text(".reply") == "aU+200BbU+001B[31mredU+2066x \U0001f469\u200d\U0001f680 gold-1"
        assert opened.page.inner_text(".reply mark.gold") == "gold-1"  # places are counted as Python counts
        opened.assert_harmless()
