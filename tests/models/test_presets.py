"""Test the exact prompts of the paper's systems, by the original code and by their documentation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from ragbed.models.presets import PRESETS
from ragbed.schema import Case, Document, Message
from tests.cli.typed import type_command
from tests.models.asking import case
from tests.servers.function_model import ModelRequest, function_model

VICUNA = (
    "A chat between a curious user and an artificial intelligence assistant. "
    "The assistant gives helpful, detailed, and polite answers to the user's questions."
)
CHATML = "<|im_start|>system\n{}<|im_end|>\n<|im_start|>user\n{}<|im_end|>\n<|im_start|>assistant\n"
HELPFUL = "You are a helpful assistant."

FORMS = [
    # preset, profile, with documents, closed book
    ("chatglm-6b", "code-2023", "S\n\nU", "U"),
    ("chatglm-6b", "robust", "S\n\nU", "S\n\nU"),
    ("chatglm2-6b", "code-2024", "[Round 1]\n\n问：S\n\nU\n\n答：", "[Round 1]\n\n问：U\n\n答："),
    ("chatglm2-6b", "paper", "[Round 1]\n\n问：S\n\nU\n\n答：", "[Round 1]\n\n问：S\n\nU\n\n答："),
    (
        "vicuna-7b-v1.3",
        "code-2023",
        "S \n\n        USER: U\n        ASSISTANT:\n        ",
        f"{VICUNA}  \n\n        USER: U\n        ASSISTANT:\n        ",
    ),
    ("vicuna-7b-v1.3", "robust", "S USER: U ASSISTANT:", "S USER: U ASSISTANT:"),
    ("qwen-7b-chat", "code-2024", CHATML.format(HELPFUL, "S\n\nU"), CHATML.format(HELPFUL, "U")),
    ("qwen-7b-chat", "robust", CHATML.format("S", "U"), CHATML.format("S", "U")),
    ("belle-7b-2m", "code-2023", "Human:S\nU\n\nAssistant:", "Human:U\n\nAssistant:"),
    ("belle-7b-2m", "paper", "Human: S\n\nU \n\nAssistant:", "Human: S\n\nU \n\nAssistant:"),
]


def asked(profile: str, *, documents: bool = True, system: str | None = "S") -> Case:
    turns = [Message(role="system", content=system)] if system else []
    shown = (Document(text="D", stance="supports", kind="related", source=0),) if documents else ()
    changes = {"profile": profile, "documents": shown, "messages": (*turns, Message(role="user", content="U"))}
    return msgspec.structs.replace(case(), **changes)


@pytest.mark.parametrize(("name", "profile", "with_documents", "closed_book"), FORMS)
def test_prompts_are_exact(name: str, profile: str, with_documents: str, closed_book: str) -> None:
    assert PRESETS[name].prompt(asked(profile)) == with_documents
    assert PRESETS[name].prompt(asked(profile, documents=False)) == closed_book


def test_a_model_uses_its_own_system_text_if_the_case_has_none() -> None:
    bare = asked("paper", documents=False, system=None)
    assert PRESETS["vicuna-7b-v1.3"].prompt(bare) == f"{VICUNA} USER: U ASSISTANT:"
    assert PRESETS["qwen-7b-chat"].prompt(bare) == CHATML.format(HELPFUL, "U")


def test_a_provider_without_presets_refuses_one() -> None:
    done = type_command("run", "-m", "scripted/oracle", "-d", "figure1", "--preset", "chatgpt")
    assert done.code == 2
    assert (
        "--preset is not supported by scripted/oracle. Remove it, or use one of these providers: "
        "hf, ollama, openai, openai-api, sglang, vllm." in done.err
    )


def test_a_run_uses_the_presets_sampling_unless_options_override_it(tmp_path: Path) -> None:
    found: list[Any] = []

    def respond(request: ModelRequest) -> str:
        found.append(request.body)
        return "gold"

    with function_model(respond) as url:
        words = ("run", "-m", "openai-api/t/m", "-d", "figure1", "--num-docs", "2", "--preset", "belle-7b-2m")
        more = ("--temperature", "0.1", "--cache", "off", "--out", str(tmp_path / "run"))
        done = type_command(*words, *more, env={"T_BASE_URL": url})
    assert done.code == 0, done.err
    assert {(one["temperature"], one["top_p"], one["max_tokens"]) for one in found} == {(0.1, 0.8, 256)}
    again = type_command(
        "run", "-m", "scripted/oracle", "-d", "figure1", "--num-docs", "2", "--out", str(tmp_path / "run")
    )
    assert again.code == 2
    assert "was created with --preset belle-7b-2m, but this command uses no --preset" in again.err
