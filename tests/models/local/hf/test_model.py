"""Test `hf/` from the command line to the response, with small models of the paper's architectures and with errors."""

from __future__ import annotations

import asyncio
import json
import pickle
import re
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Model, Sampling
from ragbed.models.presets import Preset
from ragbed.schema import Completion
from tests.cli.typed import Done, type_command
from tests.models.asking import case, with_model
from tests.models.local.hf.small import TEMPLATE, make_tokenizer, save_model

DRAWN = Sampling(temperature=0.8, top_p=0.9, max_tokens=12)


def run(folder: Path, out: Path, *words: str) -> Done:
    asked = ("run", "-m", f"hf/{folder}", "-d", "figure1", "--num-docs", "2", "--max-tokens", "6", "--out", str(out))
    return type_command(*asked, "--cache", "off", *words)


def replies(out: Path) -> list[tuple[str, str]]:
    done = type_command("export", str(out), "--to", "jsonl", "-o", str(out / "trials.jsonl"))
    assert done.code == 0, done.err
    lines = [json.loads(line) for line in (out / "trials.jsonl").read_text("utf-8").splitlines()]
    return sorted((line["outcome"], line["reply"] or line["error"] or "") for line in lines if line["feasible"])


def outcomes(out: Path) -> set[str]:
    return {outcome for outcome, _ in replies(out)}


def open_hf(folder: Path, sampling: Sampling = DRAWN, preset: Preset | None = None) -> Model:
    return open_model(f"hf/{folder}", lambda name: ModelConfig(name, {}, sampling, preset=preset))


def ask(model: Model, count: int = 1, repeats: int = 1) -> list[Completion]:
    async def talk(one: Model) -> list[Completion]:
        asked = [one.complete(case(number), repeat) for number in range(count) for repeat in range(repeats)]
        return list(await asyncio.gather(*asked))

    return asyncio.run(with_model(model, talk))


@pytest.mark.parametrize("architecture", ["llama", "qwen2", "glm", "bloom"])
def test_a_run_answers_every_case_and_a_second_run_is_equal(architecture: str, tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model", architecture)
    for out in ("one", "two"):
        done = run(folder, tmp_path / out, "--temperature", "0.8")
        assert done.code == 3, done.err  # random weights rarely end a response within six tokens
    assert replies(tmp_path / "one") == replies(tmp_path / "two")
    assert "truncated" in outcomes(tmp_path / "one") <= {"ok", "truncated"}


@pytest.mark.parametrize(
    ("preset", "architecture"), [("vicuna-7b-v1.3", "llama"), ("qwen-7b-chat", "qwen2"), ("belle-7b-2m", "bloom")]
)
def test_presets_need_no_template(preset: str, architecture: str, tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model", architecture, template=None)
    done = run(folder, tmp_path / "run", "--preset", preset, "--profile", "code-2023")
    assert done.code == 3, done.err
    assert "truncated" in outcomes(tmp_path / "run") <= {"ok", "truncated"}


def test_repeats_differ_and_are_reproducible(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    first = [done.reply for done in ask(open_hf(folder), repeats=4)]
    assert len(set(first)) == 4
    assert [done.reply for done in ask(open_hf(folder), repeats=4)] == first


def filled(system: str, user: str) -> str:
    """Return the prompt of a case by the template of the small models."""
    turns = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    return str(make_tokenizer().apply_chat_template(turns, tokenize=False, add_generation_prompt=True))


def test_a_reply_ends_before_the_presets_stop_text(tmp_path: Path) -> None:
    folder, greedy = save_model(tmp_path / "model"), Sampling(max_tokens=40)
    plain = ask(open_hf(folder, greedy), 8)
    # Letters that the replies have, and that are no token of their own as a pair.
    stop = next(pair for done in plain for pair in re.findall("[ -~]{2}", (done.reply or "")[3:]))
    ended = ask(open_hf(folder, greedy, Preset("", "", code=filled, own=filled, stop=(stop,))), 8)
    assert [done.reply for done in ended] == [(done.reply or "").partition(stop)[0] for done in plain]
    cut = [done for done, whole in zip(ended, plain, strict=True) if stop in (whole.reply or "")]
    assert {done.finish for done in cut} == {"stop"}


def test_tokens_are_counted(tmp_path: Path) -> None:
    done = ask(open_hf(save_model(tmp_path / "model"), Sampling(max_tokens=3)))[0]
    assert done.usage == {"in": len(make_tokenizer()(filled("Be brief.", "0?"))["input_ids"]), "out": 3}


def test_identity_names_weights_precision_and_versions(tmp_path: Path) -> None:
    found = asyncio.run(with_model(open_hf(save_model(tmp_path / "model")), lambda one: one.identity()))
    assert ";float32;" in found
    assert f"torch={torch.__version__}" in found


def test_a_prompt_that_does_not_fit_is_an_outcome_and_the_run_continues(tmp_path: Path) -> None:
    assert run(save_model(tmp_path / "model", max_position_embeddings=150), tmp_path / "run").code == 3
    found = replies(tmp_path / "run")
    assert {outcome for outcome, _ in found} == {"error"}
    assert all(error.startswith("too-long: ") and "the context of 150 tokens" in error for _, error in found)


def test_an_interrupted_run_resumes(tmp_path: Path) -> None:
    folder, out = save_model(tmp_path / "model"), tmp_path / "run"
    words = ["run", "-m", f"hf/{folder}", "-d", "figure1", "--num-docs", "2", "--repeats", "20", "--out", str(out)]
    words += ["--temperature", "1", "--max-tokens", "16", "--cache", "off"]
    process = subprocess.Popen([sys.executable, "-m", "ragbed", *words], stderr=subprocess.DEVNULL)
    while process.poll() is None and not results(out):
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    kept = results(out)
    assert kept
    assert type_command(*words).code == 3  # some responses reach the token limit
    assert [one for one in results(out) if one in set(kept)] == kept
    assert len(results(out)) > len(kept)


def results(out: Path) -> list[tuple[object, ...]]:
    """Return the stored responses."""
    try:
        with closing(sqlite3.connect(f"file:{out / 'run.sqlite'}?mode=ro", uri=True)) as file:
            return file.execute("SELECT item, repeat, completion FROM results ORDER BY 1, 2").fetchall()
    except sqlite3.OperationalError:
        return []


def broken(folder: Path, how: str) -> None:
    """Return a folder with one problem."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    if how == "no config":
        (folder / "config.json").unlink()
    elif how == "config no JSON":
        (folder / "config.json").write_text("{")
    elif how == "unknown architecture":
        (folder / "config.json").write_text(json.dumps(config | {"model_type": "gpt-9", "architectures": ["GPT9"]}))
    elif how == "no writer":
        (folder / "config.json").write_text(json.dumps({"model_type": "bert", "architectures": ["BertForMaskedLM"]}))
    elif how == "no weights":
        (folder / "model.safetensors").unlink()
    elif how == "damaged weights":
        (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:1000])
    elif how == "weights of fewer layers":
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3, "layer_types": None}))
    elif how == "no tokenizer":
        for file in folder.glob("tokenizer*"):
            file.unlink()


@pytest.mark.parametrize(
    ("how", "complaint"),
    [
        ("no config", "has no config.json"),
        ("config no JSON", "config.json cannot be read"),
        ("unknown architecture", "(architecture gpt-9) cannot be loaded by transformers"),
        ("no writer", "(BertForMaskedLM) is not a causal language model"),
        ("no weights", "has no weights that are safe to load"),
        ("damaged weights", "cannot be loaded"),
        ("weights of fewer layers", "12 weights are missing, e.g. model.layers.2."),
        ("no tokenizer", "has no valid tokenizer"),
        ("no template", "has no chat template"),
    ],
)
def test_a_problem_with_a_folder_is_one_message(how: str, complaint: str, tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model", template=None if how == "no template" else "{{ messages[0]['content'] }}")
    broken(folder, how)
    done = run(folder, tmp_path / "run")
    assert done.code == 1
    last = done.err.strip().splitlines()[-1]
    assert last.startswith("ragbed: ")
    assert complaint in last, done.err


def test_old_weights_are_read_as_numbers_only(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    wanted = [done.reply for done in ask(open_hf(folder), 3)]
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    assert [done.reply for done in ask(open_hf(folder), 3)] == wanted


def test_a_pickle_that_would_run_code_is_not_run(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "model")
    (folder / "model.safetensors").unlink()
    canary = tmp_path / "canary"
    (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Touch(canary), protocol=2))
    done = run(folder, tmp_path / "run")
    assert done.code == 1
    assert "cannot be loaded" in done.err
    assert not canary.exists()


class Touch:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return Path.touch, (self._path,)


def test_a_response_that_ends_in_a_thought_of_the_template_has_no_answer(tmp_path: Path) -> None:
    template = TEMPLATE.replace("assistant\n{% endif", "assistant\n<think>\n{% endif")
    folder = save_model(tmp_path / "m", template=template)
    cut = [done for done in ask(open_hf(folder), 8) if done.finish == "length"]
    assert cut
    assert {(done.outcome, done.reply) for done in cut} == {("truncated", "")}
    assert all(done.reasoning for done in cut)
