"""A run whose every text is a threat."""

from __future__ import annotations

from pathlib import Path

import msgspec
from msgspec.structs import replace

from ragbed.analysis.judging import FOLDER
from ragbed.analysis.judging.criteria import CRITERIA
from ragbed.analysis.judging.judge_run import Scope
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion, Document, Message
from tests.payloads import PAYLOADS
from tests.runs.harness import make_case
from tests.ui.viewer.runs import add_replies, write_run

REPLIES, FAILURES, JUDGE = (f"{kind}/{PAYLOADS[place]}" for place, kind in enumerate(("evil", "fails", "judge")))


def write_evil_run(folder: Path) -> Path:
    """A run that has every payload in every field of a case, a reply, an error, a judge's reply and a diagnosis."""
    target = folder / PAYLOADS[5].replace("/", "|")
    replies = [Completion(outcome="ok", reply=f"{one} gold reply", reasoning=one, finish=one) for one in PAYLOADS]
    errors = [Completion(outcome="error", error=f"server: {one}") for one in PAYLOADS]
    write_run(target, [*map(_case, range(len(PAYLOADS)))], {REPLIES: replies, FAILURES: errors})
    _judge(target)
    _diagnose(target)
    return target


def _judge(run: Path) -> None:
    criterion = CRITERIA["correct"]
    cases = list(Scope(run, criterion).cases())
    folder = run / FOLDER / "correct"
    folder.mkdir(parents=True)
    with open_store(folder, create=True) as store:
        store.plan({"criterion": criterion.name, "prompt": criterion.prompt}, cases)
    said = [Completion(outcome="ok", reply=f"{case.question} said by the judge") for case in cases]
    add_replies(folder, cases, {JUDGE: said})


def _case(number: int) -> Case:
    evil = PAYLOADS[number]
    documents = (
        Document(text=f"{evil} document one", stance="supports", kind=evil, source=0, item=evil),
        Document(text=f"{evil} document two", stance="contradicts", kind=evil, source=1),
    )
    prompt = "\n".join(document.text for document in documents)
    return replace(
        make_case(number),
        data=f"data {PAYLOADS[1]}",
        item=f"{number} {evil}",
        lang="en" if number % 2 else "zh",
        question=f"{evil} question?",
        k=2,
        profile=f"robust {PAYLOADS[2]}",
        documents=documents,
        messages=(Message(role="system", content=evil), Message(role="user", content=prompt)),
        answer=((f"{evil} gold", evil),),
        fake=((f"{evil} fake",),),
    )


def _evidence(evil: str) -> dict[str, object]:
    return {"type": "E2", "document": 0, "start": 0, "end": 3} | {"cue": f"{evil} as evidence"}


def _diagnose(folder: Path) -> None:
    (folder / "diagnose").mkdir()
    lines = [
        {"case": _case(number).case, "model": REPLIES, "repeat": 0, "lang": "en", "types": ["E2"], "source": None}
        | {"evidence": [_evidence(evil)]}
        for number, evil in enumerate(PAYLOADS)
    ]
    (folder / "diagnose" / "diagnosis.jsonl").write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
