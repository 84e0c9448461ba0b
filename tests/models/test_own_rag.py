"""Test systems that search their own corpus: requests, responses and invalid behaviour."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from ragbed.data.corpus import passage_id
from ragbed.errors import RagbedError, UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.schema import Case, Completion
from ragbed.scoring.retrieval import score_retrieval
from ragbed.testbeds.own_rag import OWN_RAG, RagVariant, open_rag
from ragbed.testbeds.settings import Settings
from tests.items import as_dataset, base_item
from tests.models.asking import KEY, ask
from tests.servers.faulty_model import Fault, FaultServer, reply

SUPPORTING, DISTRACTING = "Q0 S1: it is gold-0-gold.", "Q0 D2: nobody knows."
_SYSTEM = """
def needs_documents(question, documents):
    return "given documents only"

def half(question):
    return {"answer": "x", "retrieved": ["half a character: \\ud83d"]}

def make(folder):
    texts = [path.read_text() for path in sorted(folder.iterdir())]
    return lambda question: {"answer": str(len(texts)), "contexts": texts, "usage": {"prompt_tokens": 9}}

async def make_later(folder):
    async def answer(case):
        return case.corpus
    return answer

def make_nothing(folder):
    return folder

def make_wrong(folder):
    return lambda query, texts: ""

def make_of_two(folder, model):
    return None
"""


class Asked(NamedTuple):
    """A case and its corpus."""

    case: Case
    corpus: RagVariant


@pytest.fixture
def asked(tmp_path: Path) -> Asked:
    dataset = as_dataset(tmp_path, base_item(0), base_item(1))
    return Asked(next(OWN_RAG.cases(dataset, Settings())), open_rag(dataset, Settings()).variants["clean"])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "searching_system.py").write_text(_SYSTEM)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    sys.modules.pop("searching_system", None)


def _call(function: str, asked: Asked, provider: str = "python") -> Completion:
    corpora = {(asked.case.data, asked.corpus.name): asked.corpus}
    config = ModelConfig(f"searching_system:{function}", {}, corpora=corpora)
    return asyncio.run(open_model(f"{provider}/{config.model}", lambda _: config).complete(asked.case))


def _post(asked: Asked, *script: Fault) -> tuple[Completion, FaultServer]:
    return ask(
        *script, spec="http/{url}", asked=asked.case, corpora={(asked.case.data, asked.corpus.name): asked.corpus}
    )


def _answer(**fields: object) -> Fault:
    return reply(json.dumps({"answer": "gold-0-gold", **fields}).encode())


def test_a_system_gets_the_name_of_the_corpus_and_no_documents(asked: Asked) -> None:
    done, server = _post(asked, _answer())
    assert done.outcome == "ok"
    assert json.loads(server.seen[0].body) == {
        "question": asked.case.question,
        "corpus": "clean",
        "k": 5,
        "lang": "en",
    }


def test_passages_are_labelled_by_their_text_or_by_the_name_of_their_document(asked: Asked) -> None:
    name = f"{passage_id(SUPPORTING)}.txt"
    fields = [
        name,
        f"/srv/docs/{name}",
        {"text": DISTRACTING, "score": 0.3},
        {"id": name, "text": "another part of this document"},
        {"text": "Heading\n\n**Q0 S1**: it is  gold-0-gold. And more."},
        {"id": "chunk-8"},
        "from the web: it is gold",
    ]
    done, _ = _post(asked, _answer(retrieved=fields, citations=[fields[0]]))
    assert done.retrieved is not None
    assert [one.stance for one in done.retrieved] == [
        *("supports", "supports", "distracts", "distracts", "supports", None, "distracts")
    ]
    assert [one.id for one in done.retrieved[4:]] == [
        "Heading\n\n**Q0 S1**: it is  gold-0-gold. And more.",
        "chunk-8",
        "from the web: it is gold",
    ]
    scores = score_retrieval(asked.case, done)
    assert (scores["retrieval_recall"], scores["reciprocal_rank"], scores["cited_supports"]) == (1.0, 1.0, 1.0)
    assert [round(float(str(scores[f"retrieved_{label}"])), 2) for label in ("supports", "distracts", "unknown")] == [
        *(0.43, 0.43, 0.14)
    ]


def test_contexts_count_as_retrieved_if_nothing_else_is_returned(asked: Asked) -> None:
    done, _ = _post(asked, _answer(contexts=[DISTRACTING, SUPPORTING]))
    assert (done.retrieved, len(done.contexts or ())) == (None, 2)
    assert score_retrieval(asked.case, done)["reciprocal_rank"] == 0.5


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
        (_answer(retrieved=[7]), "protocol: a passage in 'retrieved' must be an id, a text, or an object with 'id' or"),
        (_answer(citations=[{"score": 1}]), "protocol: a passage in 'citations' must be an id"),
        (_answer(retrieved=["x"] * 1_001), "protocol: 'retrieved' contains 1,001 passages, but the maximum is 1,000"),
        (reply(b"data: {\n\ndata: garb"), "protocol: the response is not JSON"),
        (reply(b'{"error": "unknown corpus"}', 404), "missing: "),
    ],
)
def test_a_system_that_misbehaves_ends_in_a_named_error(fault: Fault, error: str, asked: Asked) -> None:
    done, _ = _post(asked, fault)
    assert done.outcome == "error"
    assert (done.error or "").startswith(error)
    assert score_retrieval(asked.case, done) == {}


def test_a_key_in_the_id_of_a_passage_is_not_stored(asked: Asked) -> None:
    done, _ = _post(asked, _answer(retrieved=[f"seen {KEY}"]))
    assert done.retrieved is not None
    assert KEY not in str(done)


@pytest.mark.usefixtures("here")
def test_a_function_that_needs_documents_is_refused_before_the_first_call() -> None:
    model = open_model("python/searching_system:needs_documents", lambda name: ModelConfig(name, {}))
    with pytest.raises(UsageError, match=r"cannot be used in the testbed own-rag\. Change"):
        model.check_provided("corpus", ())  # type: ignore[attr-defined]


@pytest.mark.usefixtures("here")
def test_a_factory_builds_the_system_for_the_folder_of_the_corpus(asked: Asked) -> None:
    done = _call("make", asked, provider="factory")
    assert (done.reply, done.usage) == ("24", {"in": 9})
    assert {one.stance for one in done.contexts or ()} == {"supports", "distracts"}
    assert _call("make_later", asked, provider="factory").reply == "clean"


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("function", "problem"),
    [
        ("make_nothing", r"must return a function, but returned PosixPath.*def make\(folder\): index = …"),
        ("make_wrong", "the function that factory/searching_system:make_wrong returns cannot be called: its parameter"),
        ("make_of_two", "cannot be called with a folder: missing a required argument: 'model'"),
    ],
)
def test_a_factory_that_fails_stops_the_run(function: str, problem: str, asked: Asked) -> None:
    with pytest.raises(RagbedError, match=problem):
        _call(function, asked, provider="factory")


@pytest.mark.usefixtures("here")
def test_half_a_character_in_a_passage_can_be_stored(asked: Asked) -> None:
    found = _call("half", asked).retrieved
    assert found is not None
    assert found[0].id == "half a character: \N{REPLACEMENT CHARACTER}"
