"""Display names of models."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.models import split_name
from ragbed.runs.display_names import read_names, short_names
from ragbed.runs.merging import merge
from ragbed.runs.store import NOTE, open_store
from tests.runs.harness import make_case
from tests.ui.viewer.runs import said, write_run

_Q4, _Q8 = "llamacpp//models/a/qwen-q4_k_m.gguf", "llamacpp//models/a/qwen-q8_0.gguf"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("openai/gpt-4o-mini", "openai/gpt-4o-mini"),
        ("bundled/smollm2", "bundled/smollm2"),
        (_Q4, "qwen-q4_k_m"),
        ("llamacpp/qwen.gguf", "qwen"),
        (r"llamacpp/C:\models\qwen.gguf", "qwen"),
        ("hf/Qwen/Qwen2.5-7B-Instruct", "Qwen2.5-7B-Instruct"),
        (f"hf/lmsys/vicuna-7b-v1.3@{'0123456789' * 4}", "vicuna-7b-v1.3@0123456"),
        ("hf//data/models/mine/", "mine"),
        ("python/my_system:answer", "python/my_system:answer"),
        ("http/https://host:8080/v1/ask?k=3", "host:8080/v1/ask?k=3"),
        ("http/localhost:8080/ask", "localhost:8080/ask"),
        ("x/<b>y</b>", "x/<b>y</b>"),
        ("m", "m"),
        ("", ""),
    ],
)
def test_a_long_model_string_is_shortened(model: str, name: str) -> None:
    assert short_names([model]) == {model: name}


def test_models_with_the_same_short_name_get_different_names() -> None:
    models = ["llamacpp//a/q4/model.gguf", "llamacpp//a/q8/model.gguf", "hf/x/y", "vllm/x/y"]
    assert list(short_names(models).values()) == ["q4/model", "q8/model", "hf/x/y", "vllm/x/y"]


def test_a_given_name_is_kept_and_others_make_room_for_it() -> None:
    assert short_names([_Q4, _Q8], {_Q8: "qwen-q4_k_m"}) == {_Q4: "a/qwen-q4_k_m", _Q8: "qwen-q4_k_m"}


def test_one_name_of_two_models_of_different_runs_is_made_unique() -> None:
    assert short_names([_Q4, _Q8], {_Q4: "qwen", _Q8: "qwen"}) == {_Q4: f"qwen ({_Q4})", _Q8: f"qwen ({_Q8})"}


@pytest.mark.parametrize(
    ("spec", "parts"),
    [
        ("scripted/oracle", ("", "scripted/oracle")),
        ("q4=llamacpp//models/x=y.gguf", ("q4", "llamacpp//models/x=y.gguf")),
        ("http/host/ask?model=openai/x", ("", "http/host/ask?model=openai/x")),
        ("my-system_1.2=http/host/ask?k=3", ("my-system_1.2", "http/host/ask?k=3")),
    ],
)
def test_only_an_equals_sign_before_the_first_slash_separates_a_name(spec: str, parts: tuple[str, str]) -> None:
    assert split_name(spec) == parts


def _write(folder: Path, model: str, name: str, number: int = 1) -> Path:
    write_run(folder, [make_case(number)], {model: [said(f"gold-{number}")]})
    with open_store(folder, create=True) as store:
        store.connection.execute(NOTE, (f"name.{model}", name))
        store.connection.commit()
    return folder


def test_merged_runs_keep_their_names(tmp_path: Path) -> None:
    parts = [
        _write(tmp_path / "a", _Q4, "small"),
        _write(tmp_path / "b", _Q4, "tiny", 2),
        _write(tmp_path / "c", _Q8, "x", 3),
    ]
    merge(parts, tmp_path / "all")
    assert read_names([tmp_path / "all"]) == {_Q4: "small", _Q8: "x"}
