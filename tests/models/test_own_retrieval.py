"""Test systems that search a corpus: requests, responses and invalid behaviour."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from math import log2
from pathlib import Path
from typing import NamedTuple

import pytest
from msgspec import structs

from ragbed.data.corpus import Corpus, Named, passage_id
from ragbed.errors import UsageError
from ragbed.io.retry import RetryPolicy
from ragbed.models import ModelConfig, open_model
from ragbed.schema import Case, Completion, Retrieved
from ragbed.scoring.retrieval import RANK_SCORES, score_retrieval
from ragbed.testbeds.end_to_end import OWN_RETRIEVAL
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item, integration_item
from tests.models.asking import HASTY, KEY, QUICK, with_model
from tests.servers.faulty_model import Fault, FaultServer, endless, hang, raw, reply, reset_in_body

SUPPORTING, DISTRACTING = "Q0 S1: it is gold-0-gold.", "Q0 D2: nobody knows."
_SYSTEM = """
import time

def hangs(question, corpus, k, lang):
    time.sleep(600)

def dies(question, corpus, k, lang):
    raise ConnectionError("index is gone")

def unprepared(question, documents, lang):
    return "given documents only"

def plain(question, corpus, k, lang):
    return "gold-0-gold"

class Found:
    answer = "gold-0-gold"
    retrieved = ("Q0 S1: it is gold-0-gold.",)

def found(question, corpus, k, lang):
    return Found()

def half(question, corpus, k, lang):
    return {"answer": "x", "retrieved": ["half a character: \\ud83d"]}

def all_of_it(question, corpus, k, lang):
    return {"answer": "x", "retrieved": ["x"] * 1_001}
"""


class Asked(NamedTuple):
    """A case and its corpus."""

    case: Case
    corpus: Corpus


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    dataset = as_dataset(tmp_path, base_item(0), base_item(1))
    return Asked(next(OWN_RETRIEVAL.cases(dataset, Settings())), Corpus(dataset))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "searching_system.py").write_text(_SYSTEM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("searching_system", None)


def _call(function: str, asked: Asked, limit_s: float = 30) -> Completion:
    corpora = {(asked.case.data, asked.corpus.id): asked.corpus}
    config = ModelConfig(
        f"searching_system:{function}", {}, retry_policy=RetryPolicy(attempt_s=limit_s), corpora=corpora
    )
    return asyncio.run(open_model(f"python/{config.model}", lambda _: config).complete(asked.case))


def _post(asked: Asked, *script: Fault, patience: RetryPolicy = QUICK) -> tuple[Completion, FaultServer]:
    server, corpora = FaultServer(list(script)), {(asked.case.data, asked.corpus.id): asked.corpus}

    async def talk() -> Completion:
        async with server:
            config = ModelConfig(server.url, {"HTTP_API_KEY": KEY}, retry_policy=patience, corpora=corpora)
            model = open_model(f"http/{server.url}", lambda _: config)
            return await with_model(model, lambda one: one.complete(asked.case))

    return asyncio.run(talk()), server


def _answer(**fields: object) -> Fault:
    return reply(json.dumps({"answer": "gold-0-gold", **fields}).encode())


def test_a_system_gets_the_id_of_the_corpus_and_no_documents(asked: Asked) -> None:
    done, server = _post(asked, _answer())
    assert done.outcome == "ok"
    assert json.loads(server.seen[0].body) == {
        "question": asked.case.question,
        "corpus": asked.corpus.id,
        "k": 5,
        "lang": "en",
    }


def test_passages_are_found_by_id_and_text_and_unknown_ones_keep_their_name(asked: Asked) -> None:
    fields = [
        passage_id(SUPPORTING),
        {"text": DISTRACTING, "score": 0.3},
        {"id": "chunk-7", "text": " q0 d2: NOBODY knows."},
        {"id": "chunk-8"},
        "from the web: it is gold",
    ]
    done, _ = _post(asked, _answer(retrieved=fields, citations=[fields[0]]))
    assert done.retrieved is not None
    assert done.citations is not None
    assert [one.stance for one in done.retrieved] == ["supports", "distracts", "distracts", None, None]
    assert [one.id for one in done.retrieved[3:]] == ["chunk-8", "from the web: it is gold"]
    assert score_retrieval(asked.case, done) == {
        "retrieval_told": True,
        "retrieval_recall": 1.0,
        "ndcg": pytest.approx(0.33916),  # one of six supporting passages, in the first place
        "reciprocal_rank": 1.0,
        "recall_at_k": pytest.approx(1 / 6),
        "precision_at_k": 0.2,
        "retrieved_supports": 0.2,
        "retrieved_distracts": 0.4,
        "retrieved_contradicts": 0.0,
        "retrieved_unknown": 0.4,
        "cited_supports": 1.0,
    }


def test_passages_after_the_first_k_do_not_count_as_retrieved(asked: Asked) -> None:
    done, _ = _post(asked, _answer(retrieved=[DISTRACTING] * 5 + [SUPPORTING]))
    assert score_retrieval(asked.case, done)["retrieval_recall"] == 0.0


@pytest.mark.parametrize(("slots", "parts"), [(2, None), (3, 2), (5, 2)])
def test_recall_is_complete_if_the_passages_of_all_parts_are_retrieved(
    slots: int, parts: int | None, tmp_path: Path
) -> None:
    item = structs.replace(integration_item(0, (1, 1)), answer=tuple((f"part-{slot}",) for slot in range(slots)))
    dataset = as_dataset(tmp_path, item)
    case, corpus = next(OWN_RETRIEVAL.cases(dataset, Settings())), Corpus(dataset)
    assert case.parts == parts
    passages = tuple(corpus.resolve(Named(None, passage.text), case) for passage in item.passages)
    recalls = [
        score_retrieval(case, Completion(outcome="ok", reply="", retrieved=passages[:count]))["retrieval_recall"]
        for count in (1, 2)
    ]
    assert recalls == [0.5, 1.0]


def _ranked(asked: Asked, labels: str, relevant: int) -> dict[str, object]:
    """Score a ranking that is given as a text: `s` for a supporting passage, `d` for another, `r` for a repeat."""
    passages = tuple(
        Retrieved(id="p0" if label == "r" else f"p{rank}", stance="distracts" if label == "d" else "supports")
        for rank, label in enumerate(labels)
    )
    done = Completion(outcome="ok", reply="gold", retrieved=passages)
    values = score_retrieval(structs.replace(asked.case, relevant=relevant), done)
    return {name: values[name] for name in RANK_SCORES if name in values}


@pytest.mark.parametrize(
    ("labels", "relevant", "expected"),
    [
        ("sssss", 5, (1, 1, 1, 1)),
        ("ddddd", 2, (0, 0, 0, 0)),
        ("ddddds", 1, (0, 0, 0, 0)),
        ("dsddd", 1, (1 / log2(3), 1 / 2, 1, 1 / 5)),
        ("sddds", 4, ((1 + 1 / log2(6)) / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5)), 1, 1 / 2, 2 / 5)),
        ("srddd", 2, (1 / (1 + 1 / log2(3)), 1, 1 / 2, 1 / 5)),
        ("s", 10, (1 / (1 + 1 / log2(3) + 1 / 2 + 1 / log2(5) + 1 / log2(6)), 1, 1 / 10, 1 / 5)),
        ("", 1, (0, 0, 0, 0)),
        ("sssdd", 2, (1, 1, 1, 3 / 5)),
    ],
)
def test_rankings_have_their_textbook_values(
    labels: str, relevant: int, expected: tuple[float, ...], asked: Asked
) -> None:
    assert tuple(_ranked(asked, labels, relevant).values()) == pytest.approx(expected)


def test_rankings_need_relevant_passages(asked: Asked) -> None:
    assert _ranked(asked, "sdd", 0) == {}


@pytest.mark.parametrize(
    ("fields", "has_passages"), [({}, False), ({"retrieved": None}, False), ({"retrieved": []}, True)]
)
def test_a_response_without_passages_has_no_noise_ratio(
    fields: dict[str, object], has_passages: bool, asked: Asked
) -> None:
    done, _ = _post(asked, _answer(**fields))
    values = score_retrieval(asked.case, done)
    assert values["retrieval_told"] is has_passages
    assert values.get("retrieval_recall") == (0.0 if has_passages else None)
    assert "retrieved_distracts" not in values


@pytest.mark.parametrize(
    ("fault", "error"),
    [
        (_answer(retrieved="all of them"), "protocol: 'retrieved' must be a list of passages, not str 'all of them'"),
        (_answer(retrieved={"a": 1}), "protocol: 'retrieved' must be a list of passages, not dict"),
        (_answer(retrieved=[7]), "protocol: a passage in 'retrieved' must be an id, a text, or an object with 'id' or"),
        (_answer(retrieved=[{"id": 7}]), "protocol: a passage in 'retrieved' must be an id"),
        (_answer(citations=[{"score": 1}]), "protocol: a passage in 'citations' must be an id"),
        (_answer(answer=None, retrieved=[]), "protocol: an answer must be a string"),
        (_answer(retrieved=["x"] * 1_001), "protocol: 'retrieved' contains 1,001 passages, but the maximum is 1,000"),
        (reply(b"data: {\n\ndata: garb"), "protocol: the response is not JSON"),
        (raw(b"\x00\x01 garbage"), "protocol: the response is not valid HTTP"),
        (endless, "protocol: "),
        (reset_in_body, "network: "),
        (reply(b'{"error": "unknown corpus"}', 404), "missing: "),
    ],
)
def test_a_system_that_misbehaves_ends_in_a_named_error(fault: Fault, error: str, asked: Asked) -> None:
    done, _ = _post(asked, fault)
    assert done.outcome == "error"
    assert (done.error or "").startswith(error)
    assert score_retrieval(asked.case, done) == {}


def test_a_system_that_hangs_times_out(asked: Asked) -> None:
    done, _ = _post(asked, hang, patience=HASTY)
    assert (done.error or "").startswith("timeout: no complete response was received within 0.4 s")


def test_a_key_in_the_id_of_a_passage_is_not_stored(asked: Asked) -> None:
    done, _ = _post(asked, _answer(retrieved=[f"seen {KEY}"]))
    assert done.retrieved is not None
    assert KEY not in str(done)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("hangs", "timeout: no answer within 0.2 s"),
        ("dies", "server: ConnectionError: index is gone"),
        ("all_of_it", "protocol: 'retrieved' contains 1,001 passages"),
    ],
)
def test_an_exception_in_a_function_is_the_outcome_of_its_case(function: str, error: str, asked: Asked) -> None:
    done = _call(function, asked, 0.2 if function == "hangs" else 30)
    assert done.outcome == "error"
    assert (done.error or "").startswith(error)


@pytest.mark.usefixtures("here")
def test_a_function_without_a_corpus_parameter_is_refused_before_the_first_call(asked: Asked) -> None:
    with pytest.raises(UsageError, match="cannot be called with the keyword arguments question, corpus, k, lang: "):
        _call("unprepared", asked)


@pytest.mark.usefixtures("here")
def test_a_function_may_return_a_string_or_an_object(asked: Asked) -> None:
    assert _call("plain", asked).retrieved is None
    found = _call("found", asked).retrieved
    assert found is not None
    assert [one.stance for one in found] == ["supports"]


@pytest.mark.usefixtures("here")
def test_half_a_character_in_a_passage_can_be_stored(asked: Asked) -> None:
    found = _call("half", asked).retrieved
    assert found is not None
    assert found[0].id == "half a character: \N{REPLACEMENT CHARACTER}"
