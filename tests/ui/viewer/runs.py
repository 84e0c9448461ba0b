"""Runs to look at, written as `ragbed run` writes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from msgspec.structs import replace

from ragbed.runs.store import RECORD, CallRequest, open_store
from ragbed.schema import Case, Completion, Document, Message
from ragbed.testbeds.prompts import REFUSAL
from tests.runs.harness import make_case


def said(reply: str, **told: object) -> Completion:
    """A reply."""
    return Completion(outcome="ok", reply=reply, finish="stop", usage={"in": 812, "out": 7}, latency_s=0.41, **told)  # type: ignore[arg-type]


def write_run(
    folder: Path,
    cases: Sequence[Case],
    replies: dict[str, Sequence[Completion]],
    settings: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """A run of these cases in which each model said these things."""
    folder.mkdir(parents=True)
    with open_store(folder, create=True) as store:
        store.plan({"repeats": "1", **settings}, cases)
    add_replies(folder, cases, replies)


def write_incomplete(folder: Path) -> None:
    """A run in which `m/good` is right four times, and `m/cut` ends truncated twice, filtered once and failed once."""
    cut = replace(said("gold-0"), outcome="truncated", finish="length")
    ends = [cut, cut, Completion(outcome="filtered", error="filter"), Completion(outcome="error", error="server: x")]
    cases = [make_case(number) for number in range(4)]
    write_run(folder, cases, {"m/good": [said(case.answer[0][0]) for case in cases], "m/cut": ends})


def add_replies(folder: Path, cases: Sequence[Case], replies: dict[str, Sequence[Completion]]) -> None:
    """A further session, in which the first of the cases were asked."""
    with open_store(folder, create=True) as store:
        session, models = store.begin_session([(name, "") for name in replies])
        with store.transaction() as connection:
            for model, completions in zip(models, replies.values(), strict=True):
                for number, (case, completion) in enumerate(zip(cases, completions, strict=False), 1):
                    ask = CallRequest(model, number, 0, case)
                    connection.execute(RECORD, store.row(ask, session, f"{model}-{number}", completion))


def final_case() -> Case:
    """An English question with documents of all stances."""
    texts = (
        ("supports", "The final of the 2022 cup was won by Ada Marlowe, who beat Ines Okoro."),
        ("distracts", "In 2021 the cup went to Bruno Tolwell."),
        ("contradicts", "The final of the 2022 cup was won by Carla Venn."),
    )
    documents = tuple(
        Document(text=text, stance=stance, kind="related", source=place)  # type: ignore[arg-type]
        for place, (stance, text) in enumerate(texts)
    )
    return replace(
        make_case(1),
        question="Who won the final of the 2022 cup?",
        documents=documents,
        answer=(("Ada Marlowe", "Marlowe"),),
        fake=(("Carla Venn",),),
        messages=(
            Message(role="system", content="Answer from the documents."),
            Message(role="user", content="\n".join(text for _, text in texts) + "\nWho won the final of the 2022 cup?"),
        ),
    )


def chinese_case() -> Case:
    """A Chinese question."""
    document = Document(
        text="2022年奥登杯决赛在石桥市举行，林若水夺得冠军。", stance="supports", kind="related", source=0
    )
    return replace(
        make_case(2),
        case="made-zh/2/noise@noise=0.4,k=1,arm=related,profile=robust,seed=0",
        data="made-zh",
        lang="zh",
        noise=0.4,
        noise_real=0.4,
        question="谁夺得了2022年奥登杯的冠军？",
        documents=(document,),
        answer=(("林若水",),),
        messages=(Message(role="user", content=f"{document.text}\n谁夺得了2022年奥登杯的冠军？"),),
    )


def unanswerable_case() -> Case:
    """A question whose documents do not answer it."""
    return replace(
        make_case(3),
        case="made/3/rejection@noise=1,k=1,arm=related,profile=robust,seed=0",
        testbed="rejection",
        noise=1.0,
        noise_real=1.0,
        question="How many people watched the parade in Ellerstead?",
        documents=(Document(text="The parade passed the town hall.", stance="distracts", kind="related", source=0),),
        answer=(("28,810",),),
        expect="refuse",
    )


CASES = (final_case(), chinese_case(), unanswerable_case())
REPLIES: dict[str, Sequence[Completion]] = {
    "made/good": (said("Ada Marlowe won it."), said("冠军是林若水。"), said(REFUSAL["en"])),
    "made/misled": (said("Carla Venn."), said("是陈大文。"), said("About 28,810 people watched it.")),
    "made/broken": (
        Completion(outcome="error", error="timeout: no reply within 60 s"),
        said("林若水"),
        Completion(outcome="filtered", error="filter: not allowed"),
    ),
}
"""Three models, three cases, every outcome."""
