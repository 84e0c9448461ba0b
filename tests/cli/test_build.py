"""`ragbed build` as a user types it: whole benchmarks from a folder, with a generator at the wire."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ragbed.data import Dataset, kind_of
from ragbed.schema import Item
from ragbed.text import mentions_answer
from ragbed.ui.review.item_page import read_origins
from tests.builder.world_site import World, make_world, running_generator
from tests.cli.typed import Done, type_command
from tests.servers.function_model import function_model

RECIPE = """
name = "world"
generator = "openai-api/world/generator"
langs = ["en", "zh"]
[wanted]
base = 2
integration = 1
counterfactual = 1
[[sources]]
kind = "folder"
place = "docs"
licence = "CC0"
[questions]
per_section = 1
surplus = 2
[ranking]
encoder = "bm25"
[pools]
distracts = 3
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[World, Path]]:
    """A world, its documents, a recipe, and the whole build of them: made once, copied by who changes it."""
    folder = tmp_path_factory.mktemp("world")
    world = make_world()
    world.write_folder(folder / "docs")
    (folder / "world.toml").write_text(RECIPE)
    with pytest.MonkeyPatch.context() as patch, running_generator(world) as url:
        patch.chdir(folder)
        patch.setenv("RAGBED_CACHE_DIR", str(folder / "cache"))
        patch.setenv("WORLD_BASE_URL", url)
        patch.setenv("OPENBLAS_NUM_THREADS", "1")
        done = type_command("build", "run", "world.toml", "-o", "out", "--json")
        (folder / "summary.json").write_text(done.out)
        (folder / "said.txt").write_text(f"{done.code}\n{done.err}")
        yield world, folder


@pytest.fixture
def place(shared: tuple[World, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the whole build, in which to type."""
    world, folder = shared
    world.closed = False
    shutil.copytree(folder, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("RAGBED_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "here"


def build(*words: str) -> Done:
    return type_command("build", "run", "world.toml", "-o", "out", *words)


def contents(folder: Path) -> dict[str, bytes]:
    """All that a build leaves, but for what is kept from outside."""
    files = [*folder.glob("*.jsonl"), folder / "build.lock", *(folder / "steps").glob("*.jsonl")]
    return {path.name: path.read_bytes() for path in files}


def delivered(folder: Path) -> dict[str, bytes]:
    """The files for others: items, lock and report."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in (".jsonl", ".lock", ".json")}


def items_of(folder: Path) -> list[Item]:
    return [item for path in sorted(folder.glob("out/*.jsonl")) for item in Dataset(path.stem, path).items()]


def rejects_of(folder: Path, step: str) -> Counter[str]:
    lines = (folder / "out" / "steps" / f"{step}.rejects.jsonl").read_text("utf-8").splitlines()
    return Counter(json.loads(line)["outcome"] for line in lines)


def test_a_folder_becomes_a_benchmark_of_all_kinds_in_both_languages(shared: tuple[World, Path]) -> None:
    _, folder = shared
    code, said = (folder / "said.txt").read_text("utf-8").split("\n", 1)
    assert code == "0", said
    files = json.loads((folder / "summary.json").read_text("utf-8"))["files"]
    wanted = {"base": 2, "int": 1, "fact": 1}
    assert {(one["file"], one["wanted"], one["made"]) for one in files} == {
        (f"{lang}_{kind}.jsonl", count, count) for lang in ("en", "zh") for kind, count in wanted.items()
    }
    kinds = {"base": "base", "int": "integration", "fact": "counterfactual"}
    for item in items_of(folder):
        lang, kind, _ = item.id.split("-")
        assert (item.lang, kind_of(item)) == (lang, kinds[kind])


def test_passages_have_the_stance_that_the_world_gave_them(shared: tuple[World, Path]) -> None:
    world, folder = shared
    truth = {(item.question, passage.text): passage.stance for item in world.items for passage in item.passages}
    told = [
        (truth[item.question, passage.text], passage.stance)
        for item in items_of(folder)
        for passage in item.passages
        if (item.question, passage.text) in truth and passage.stance != "contradicts"
    ]
    assert len(told) > 30
    assert all(is_one == should_be for should_be, is_one in told)


def test_every_passage_says_where_it_is_from_and_under_which_licence(shared: tuple[World, Path]) -> None:
    _, folder = shared
    pages = [json.loads(line) for line in (folder / "out/steps/pages.jsonl").read_text("utf-8").splitlines()]
    texts = {page["article"]["id"]: page["article"]["text"] for page in pages}
    for item in items_of(folder):
        assert item.date is not None
        for passage in item.passages:
            assert passage.url is not None
            assert passage.date is not None
            assert passage.licence == "CC0"
            if passage.stance != "contradicts":
                assert passage.text in texts[passage.page or ""]


def test_no_document_of_an_integration_item_answers_it_alone(shared: tuple[World, Path]) -> None:
    _, folder = shared
    joined = [item for item in items_of(folder) if kind_of(item) == "integration"]
    assert len(joined) == 2
    truth = {item.question: item.answer[0] for item in shared[0].items}
    for item in joined:
        assert len(item.answer) == 2
        assert all(set(slot) <= set(truth[asked]) for slot, asked in zip(item.answer, item.sub_questions, strict=True))
        assert {passage.part for passage in item.passages} == {None, 0, 1}
        for passage in item.passages:
            held = [number for number, slot in enumerate(item.answer) if mentions_answer(passage.text, (slot,))]
            assert held == ([] if passage.part is None else [passage.part])


def test_a_counterfactual_item_is_known_and_its_false_documents_hide_the_truth(shared: tuple[World, Path]) -> None:
    _, folder = shared
    false = [item for item in items_of(folder) if kind_of(item) == "counterfactual"]
    assert [item.id for item in false] == ["en-fact-0", "zh-fact-0"]
    for item in false:
        assert item.known_by == ("openai-api/world/generator",)
        assert item.fake is not None
        edited = [passage for passage in item.passages if passage.stance == "contradicts"]
        assert edited
        for passage in edited:
            assert mentions_answer(passage.text, item.fake)
            assert not mentions_answer(passage.text, item.answer)
            assert item.passages[passage.edit_of or 0].stance == "supports"
    assert all(not item.known_by for item in items_of(folder) if kind_of(item) != "counterfactual")


def test_whatever_the_generator_writes_has_an_outcome(shared: tuple[World, Path]) -> None:
    _, folder = shared
    rejects = rejects_of(folder, "questions")
    for outcome in ("unreadable", "no-fact", "yes-no", "in-question", "not-in-text", "language", "duplicate"):
        assert rejects[outcome] > 0, outcome


def test_the_linter_finds_no_error_in_what_was_built(shared: tuple[World, Path]) -> None:
    _, folder = shared
    done = type_command("lint", *map(str, sorted((folder / "out").glob("*.jsonl"))))
    assert done.code == 0, done.out


def test_a_build_ships_its_quality_report(shared: tuple[World, Path]) -> None:
    _, folder = shared
    report = json.loads((folder / "out" / "quality.json").read_text("utf-8"))["quality"]
    assert report["items"] == len(items_of(folder))
    assert all((folder / "out" / "steps" / f"{name}.jsonl").exists() for name in report["steps"])
    figures = {one["name"]: one for family in report["families"].values() for one in family}
    for name in ("answers found without documents", "label agreement, distracting", "duplicate rate"):
        assert figures[name]["passed"] == "passed", figures[name]
    printed = type_command("build", "quality", str(folder / "out")).out
    assert all(f"\n{name} " in printed for name in report["steps"])


def test_who_reviews_a_build_sees_where_questions_are_from(shared: tuple[World, Path]) -> None:
    folder = shared[1] / "out"
    origins = read_origins(folder)
    assert {origins[item.article or ""].licence for item in items_of(shared[1])} == {"CC0"}
    assert read_origins(folder / "steps") == {}


def test_what_was_built_can_be_run(place: Path) -> None:
    done = type_command("run", "-m", "scripted/oracle", *_data(place), "--out", "run", "--num-docs", "3", "--json")
    assert done.code == 0, done.err


def _data(folder: Path) -> list[str]:
    return [word for path in sorted((folder / "out").glob("*.jsonl")) for word in ("-d", str(path))]


def test_the_same_command_again_asks_nobody_and_changes_nothing(place: Path, shared: tuple[World, Path]) -> None:
    before = contents(place / "out")
    shared[0].closed = True
    done = build()
    assert done.code == 0, done.err
    assert done.err.count("unchanged") == 13
    assert contents(place / "out") == before


def test_it_does_not_matter_where_a_build_lies_and_from_where_it_is_typed(
    place: Path, shared: tuple[World, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    (place / "docs" / "photo.raw").write_bytes(b"no text")
    (place / "docs" / "broken.pdf").write_bytes(b"no pdf")
    assert build("--from", "articles").code == 0
    assert rejects_of(place, "articles") >= Counter(type=1, broken=1)
    before, asked = contents(place / "out"), shared[0].asked.total()
    moved = place.rename(place.parent / "moved")
    monkeypatch.chdir(moved.parent)
    done = type_command("build", "run", "moved/world.toml", "-o", "moved/out")
    assert (done.code, done.err.count("(unchanged;"), shared[0].asked.total()) == (0, 13, asked), done.err
    done = type_command("build", "run", str(moved / "world.toml"), "-o", "moved/out", "--from", "articles")
    assert (done.code, shared[0].asked.total()) == (0, asked), done.err
    assert contents(moved / "out") == before


def test_a_changed_recipe_makes_only_what_depends_on_it(place: Path, shared: tuple[World, Path]) -> None:
    (place / "world.toml").write_text(RECIPE.replace("base = 2", "base = 1").replace("surplus = 2", "surplus = 4"))
    done = build()
    assert done.code == 0, done.err
    assert "articles: " in done.err
    assert "--from articles" in done.err
    assert "--from items" not in done.err
    assert len((place / "out/en_base.jsonl").read_text("utf-8").splitlines()) == 1


def test_a_file_changed_by_hand_is_taken_as_it_is(place: Path) -> None:
    path = place / "out/steps/questions.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    gone = json.loads(lines[0])["question"]
    path.write_text("".join(lines[1:]))
    done = build()
    assert "--from questions" in done.err
    assert "--from answers" not in done.err
    assert gone not in (place / "out/en_base.jsonl").read_text("utf-8") + (place / "out/zh_base.jsonl").read_text(
        "utf-8"
    )
    path.write_text("{}\n")
    done = build()
    assert done.code == 1
    assert "questions.jsonl:1" in done.err
    assert "--from questions" in done.err


def test_a_generator_that_takes_no_key_loses_nothing(place: Path, shared: tuple[World, Path]) -> None:
    before = contents(place / "out")
    shutil.rmtree(place / "out")
    shared[0].closed = True
    done = build()
    assert done.code == 1
    assert "To resume, rerun the same command" in done.err
    shared[0].closed = False
    done = build()
    assert done.code == 0, done.err
    assert "--from articles runs it again" in done.err
    assert contents(place / "out") == before


_ASKED = ("kept/asked/questions-*/run.sqlite", "kept/asked/combinations-*/run.sqlite")
KILLED_AT = ("steps/articles.jsonl", "steps/hits.jsonl", "steps/pages.jsonl", *_ASKED)
"""The file whose appearance brings the blow."""


@pytest.mark.slow
def test_a_build_killed_at_many_moments_ends_in_the_same_bytes(place: Path) -> None:
    before = contents(place / "out")
    shutil.rmtree(place / "out")
    for sign in KILLED_AT:
        _kill(place, sign, signal.SIGKILL)
    done = build()
    assert done.code == 0, done.err
    assert contents(place / "out") == before
    assert not list((place / "out").rglob("*.part"))


@pytest.mark.parametrize(("blow", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_who_ends_a_build_is_told_how_to_go_on(place: Path, blow: signal.Signals, code: int) -> None:
    shutil.rmtree(place / "out")
    ended, said = _kill(place, "steps/articles.jsonl", blow)
    assert ended == code, said
    assert "rerun the same command to resume" in said
    assert "Traceback" not in said


def _kill(place: Path, sign: str, blow: signal.Signals) -> tuple[int, str]:
    """Starts the build in a separate process and ends it when a file appears."""
    command = [sys.executable, "-m", "ragbed", "build", "run", "world.toml", "-o", "out"]
    with subprocess.Popen(
        command,
        cwd=place,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2] / "src")},
        # A shell starts background jobs with SIGINT ignored, and processes inherit this.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509
    ) as process:
        deadline = time.monotonic() + 120
        while not list((place / "out").glob(sign)) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.005)
        process.send_signal(blow)
        _, said = process.communicate(timeout=60)
        return process.returncode, said.decode()


def test_the_next_edition_takes_only_what_is_new(place: Path) -> None:
    before = delivered(place / "out")
    done = build("--since", "2099-01-01", "--json")
    summary = json.loads(done.out.splitlines()[-1])
    assert done.code == 3
    assert summary["steps"]["articles"]["made"] == 0
    assert set(summary["steps"]["articles"]["rejected"]) <= {"old", "language"}
    assert "en_base.jsonl: 0 of 2." in done.err
    assert delivered(place / "out") == before
    assert "The item files of the earlier build in out were kept" in done.err


def test_fewer_items_than_asked_for_are_explained(place: Path) -> None:
    (place / "world.toml").write_text(RECIPE.replace("base = 2", "base = 50"))
    done = build()
    assert done.code == 3
    assert "en_base.jsonl: 3 of 50. 38 articles produced" in done.err.replace("37 articles", "38 articles")
    assert "All articles were used: add documents" in done.err


@pytest.mark.parametrize(
    ("more", "advice"),
    [("", "lack the requested fields"), ('since = "2030-01-01"\n', "check [[sources]], langs and since")],
)
def test_the_advice_is_about_the_step_at_which_all_was_lost(
    shared: tuple[World, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: str, advice: str
) -> None:
    monkeypatch.chdir(shared[1])
    (tmp_path / "echo.toml").write_text(more + RECIPE.replace('place = "docs"', f'place = "{shared[1] / "docs"}"'))
    done = type_command("build", "run", str(tmp_path / "echo.toml"), "-m", "scripted/echo", "-o", str(tmp_path / "out"))
    assert done.code == 3
    assert "en_base.jsonl: 0 of 2" in done.err
    assert advice in done.err
    assert "All articles were used" not in done.err or not more


def test_truncated_questions_are_explained_with_the_options_that_help(
    shared: tuple[World, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shared[1])
    choice = {"index": 0, "message": {"role": "assistant", "content": "Q"}, "finish_reason": "length"}
    with function_model(lambda _: (200, {"choices": [choice]})) as url:
        words = ("build", "run", "world.toml", "-m", "openai-api/t/m", "--cache", "off", "-o", str(tmp_path / "out"))
        done = type_command(*words, env={"T_BASE_URL": url})
    assert done.code == 3, done.err
    assert "The step `questions` rejects most" in done.err
    assert "use --thinking off, --reasoning-effort low or another generator" in done.err


def test_without_a_model_the_message_lists_what_works_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RAGBED_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("DEEPSEEK_API_KEY", "secret")
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.txt").write_text("The bridge was opened on Tuesday.")
    (tmp_path / "small.gguf").write_bytes(b"GGUF")
    with function_model(lambda _: "x") as url:
        monkeypatch.setenv("OLLAMA_BASE_URL", url)
        done = type_command("build", "init", "docs")
    assert done.code == 2
    assert "Name the model that writes the questions, e.g. -m openai/gpt-4o-mini." in done.err
    for found in ("-m deepseek/<model>  (DEEPSEEK_API_KEY is set)", "-m ollama/<model>  (server found at 127.0.0.1:",
                  "-m llamacpp/small.gguf", "ragbed data get qwen2.5-1.5b"):  # fmt: skip
        assert found in done.err
    assert "secret" not in done.err
    assert not (tmp_path / "docs.toml").exists()


def test_a_trial_on_a_few_documents_estimates_the_number_of_items(
    shared: tuple[World, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shared[1])
    recipe = tmp_path / "tried.toml"
    words = ("build", "init", "docs", "-m", "openai-api/world/generator", "-o", str(recipe), "--trial", "8")
    done = type_command(*words)
    assert done.code == 0, done.err
    found = re.search(r"Trial on 8 documents: (\d+) questions written, (\d+) items? passed", done.err)
    assert found, done.err
    estimate = re.search(r"about (\d+) items \(95% interval (\d+) to (\d+)\), ([\d,]+) model calls", done.err)
    assert estimate, done.err
    assert int(estimate[1]) == round(int(found[2]) * len(list((shared[1] / "docs").iterdir())) / 8)
    assert int(estimate[2]) <= int(estimate[1]) <= int(estimate[3])
    assert "The step `questions` rejects most" in done.err
    assert tomllib.loads(recipe.read_text())["wanted"]["base"] == max(1, round(int(estimate[1]) / 2))
    done = type_command(*words[:4], "scripted/echo", "-o", str(tmp_path / "none.toml"), "--trial", "2")
    assert "Estimate for all documents: about 0 items" in done.err
    assert "use a larger model as the generator" in done.err


MEANS = [
    ("openai/x", "", "OPENAI_API_KEY is not set"),
    ("opnai/x", "", "'opnai' is not a known provider"),
    ("scripted/oracle", '[gate]\nmodels = ["opnai/x"]', "'opnai' is not a known provider"),
    ("http/localhost:1/ask", "", "is a RAG system, which builds its own prompts"),
    ("scripted/oracle", '[search]\nengine = "brave"', "BRAVE_API_KEY is not set"),
]


@pytest.mark.parametrize(("generator", "more", "said"), MEANS)
def test_what_a_build_will_lack_is_noticed_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, generator: str, more: str, said: str
) -> None:
    for key in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "BRAVE_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    (tmp_path / "docs").mkdir()
    source = '[[sources]]\nkind = "folder"\nplace = "docs"\n'
    (tmp_path / "made.toml").write_text(f'name = "made"\ngenerator = "{generator}"\n{source}{more}\n')
    done = type_command("build", "run", str(tmp_path / "made.toml"), "-o", str(tmp_path / "out"))
    assert (done.code, said in done.err, done.err.count("\n")) == (2, True, 1), done.err
    assert not (tmp_path / "out" / "steps").exists()


def test_a_build_that_has_spent_its_budget_is_resumed_with_a_larger_one(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ragbed.runs.prices.find_price", lambda *_: lambda _: Decimal(1))
    shutil.rmtree(place / "out")
    done = build("--budget", "1", "--max-connections", "1", "--cache", "off")
    assert (done.code, "rerun the same command to resume" in done.err) == (1, False), done.err
    assert done.err.endswith(
        "all results are stored. To resume, rerun the same command with a larger --budget; for a run, set --out to its "
        "folder.\n"
    )
