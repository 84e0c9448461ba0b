"""Test RAG systems as functions and at URLs, with valid and invalid behaviour."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from ragbed.errors import UsageError
from ragbed.io.retry import RetryPolicy
from ragbed.models import ModelConfig, open_model
from ragbed.models.secrets import without_credentials
from ragbed.schema import Completion
from tests.cli.typed import type_command
from tests.models.asking import ask
from tests.runs.harness import make_case
from tests.servers.faulty_model import reply
from tests.servers.function_model import ModelRequest, function_model

EXAMPLES = Path(__file__).parents[2] / "examples"
_MADE = """
import asyncio, sys, time

def good(question, documents, lang):
    return f"{lang}: {question} {len(documents)}"

async def waits(question, documents, lang):
    return {"answer": "later", "citations": [0]}

class Agent:
    async def __call__(self, question, documents, lang):
        return "from an object"

agent = Agent()

class Text(str):
    pass

def text_of_a_library(question, documents, lang):
    return {"answer": Text("a text")}

async def blocks(question, documents, lang):
    time.sleep(600)

async def cancels(question, documents, lang):
    raise asyncio.CancelledError

async def exits(question, documents, lang):
    raise SystemExit(4)

def gives_up(question, documents, lang):
    raise TimeoutError("upstream said 504")

def leaves(question, documents, lang):
    sys.exit(3)

def other_names(question, docs):
    return ""

constant = 7
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return the current folder, which has modules."""
    (tmp_path / "made_system.py").write_text(_MADE)
    (tmp_path / "broken_system.py").write_text("raise RuntimeError('half installed')\n")
    (tmp_path / "script_system.py").write_text("import argparse\nargparse.ArgumentParser().parse_args(['--what'])\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    for name in ("made_system", "broken_system", "script_system", "plain_rag"):
        sys.modules.pop(name, None)


def _call(function: str, limit_s: float = 30) -> Completion:
    model = open_model(
        f"python/made_system:{function}",
        lambda name: ModelConfig(name, {}, retry_policy=RetryPolicy(attempt_s=limit_s)),
    )
    return asyncio.run(model.complete(make_case(0)))


def test_the_current_folder_comes_last_on_the_path_once_the_module_is_imported(here: Path) -> None:
    (here / "made_neighbour.py").write_text("REPLY = 'from the neighbour'\n")
    (here / "made_system.py").write_text(
        "def late(question, documents, lang):\n    import made_neighbour\n    return made_neighbour.REPLY\n"
    )
    assert _call("late").reply == "from the neighbour"
    assert sys.path.index(str(here)) == len(sys.path) - 1


@pytest.mark.usefixtures("here")
def test_a_function_gets_question_documents_and_language() -> None:
    case = make_case(0)
    done = _call("good")
    assert done.outcome == "ok"
    assert done.reply == f"{case.lang}: {case.question} {len(case.documents)}"
    assert _call("waits").reply == "later"
    assert _call("agent").reply == "from an object"


@pytest.mark.usefixtures("here")
def test_an_answer_of_a_subclass_of_str_is_stored_as_text() -> None:
    assert type(_call("text_of_a_library").reply) is str


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("function", "error"),
    [
        ("leaves", "exception: RuntimeError: SystemExit: 3"),
        ("exits", "exception: RuntimeError: SystemExit: 4"),
        ("cancels", "exception: RuntimeError: CancelledError:"),
        ("gives_up", "exception: TimeoutError: upstream said 504"),
        ("blocks", "timeout: no answer within 0.2 s"),
    ],
)
def test_an_exception_in_a_function_is_the_outcome_of_its_case(function: str, error: str) -> None:
    done = _call(function, 0.2 if function == "blocks" else 30)
    assert (done.outcome, (done.error or "").partition("\n")[0]) == ("error", error)


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            "broken_system:f",
            "RuntimeError: half installed. To see where the error occurs, run: python -c 'import broken_system'",
        ),
        ("script_system:f", "SystemExit: 2"),
        ("made_system:constant", "made_system has no function 'constant'"),
        ("made_system:other_names", r"A correct one: def answer\(question, documents\): return"),
    ],
)
def test_a_function_that_cannot_be_loaded_is_named_before_the_first_call(spec: str, problem: str) -> None:
    with pytest.raises(UsageError, match=problem):
        open_model(f"python/{spec}", lambda name: ModelConfig(name, {}))


def test_the_example_is_run_as_a_function_and_never_from_the_cache(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "plain_rag.py").write_text((EXAMPLES / "plain_rag.py").read_text("utf-8"))
    asked = ("run", "-m", "python/plain_rag:answer", "-d", "ragbed-mini-zh_base", "--testbeds", "noise,rejection")
    words = (*asked, "--limit", "10", "--json")
    monkeypatch.setenv("RAGBED_CACHE_DIR", str(here / "cache"))
    first = type_command(*words, "--out", "a")
    assert first.code == 0
    accuracy = {cell["noise"]: cell["rates"]["correct"] for cell in json.loads(first.out)["cells"]}
    assert accuracy[0.0] > accuracy[0.8]
    (here / "plain_rag.py").write_text("def answer(question, documents, lang):\n    return 'no idea'\n")
    sys.modules.pop("plain_rag")
    second = json.loads(type_command(*words, "--out", "b").out)
    assert {cell["rates"]["correct"] for cell in second["cells"]} == {0.0}


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"<html>busy</html>", "protocol: the response is not JSON"),
        (b'{"text": "x"}', "protocol: an answer must be a string or an object with a string field 'answer', not dict"),
    ],
)
def test_a_system_with_an_invalid_response_is_named(body: bytes, error: str) -> None:
    done, _ = ask(reply(body), spec="http/{url}")
    assert done.outcome == "error"
    assert (done.error or "").startswith(error)


def test_a_url_is_used_unchanged() -> None:
    done, server = ask(reply(b'{"answer": "yes"}'), spec="http/{url}")
    assert done.reply == "yes"
    (seen,) = server.seen
    assert seen.path == "/v1"
    assert set(json.loads(seen.body)) == {"question", "documents", "lang"}


def _repeat(request: ModelRequest) -> tuple[int, object]:
    return 200, {"answer": f"{request.path} {request.headers['Authorization']}"}


def test_credentials_in_the_url_of_a_system_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with function_model(_repeat) as base:
        host = urlsplit(base).netloc
        url = f"http/http://ada:pw2secret@{host}/ask?token=t0ken9876&index=news#here"
        words = ("-d", "ragbed-mini-en_base", "--limit", "1", "--testbeds", "noise", "--noise", "0")
        outputs = [type_command("run", "-m", url, *words)]
    (folder,) = (tmp_path / "runs").iterdir()
    outputs += [type_command(*words, str(folder)) for words in (("report",), ("report", "-f", "json"), ("status",))]
    assert [one.code for one in outputs] == [0] * 4
    assert f"\n{host}/ask?token=***&index=***" in outputs[3].out
    stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).decode("latin-1")
    for text in (stored, folder.name, *(one.out + one.err for one in outputs)):
        assert not [word for word in ("pw2secret", "t0ken9876", "YWRhOnB3MnNlY3JldA") if word in text]


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("http/localhost:8080/ask", "http/localhost:8080/ask"),
        ("http/ada:pw@localhost:8080/ask", "http/localhost:8080/ask"),
        ("http/https://to:k@e:n@h/a@b?x", "http/https://h/a@b?***"),
        ("http/h/?a=1&b&c=2=3", "http/h/?a=***&***&c=***"),
        ("http://ada:pw@h/?t=1", "http://h/?t=***"),
        ("openai/ft:gpt-4o:me@x?y=z", "openai/ft:gpt-4o:me@x?y=z"),
    ],
)
def test_a_model_string_is_shown_without_credentials(typed: str, name: str) -> None:
    assert without_credentials(typed) == name


def test_systems_that_differ_only_in_hidden_parts_are_refused() -> None:
    done = type_command("run", "-m", "http/h/?index=a", "-m", "http/h/?index=b", "-d", "figure1", "--num-docs", "2")
    assert done.code == 2
    assert "http/h/?index=*** is given twice" in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize("words", [("-m", "http://ada:pw2secret@h/"), ("-m", "http/ada:pw2secret@h/", "--budget", "1")])
def test_messages_show_no_credentials_of_a_url(words: tuple[str, ...]) -> None:
    done = type_command("run", *words, "-d", "figure1", "--num-docs", "2")
    assert done.code == 2
    assert "pw2secret" not in done.err
