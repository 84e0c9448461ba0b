"""Thoughts are kept apart from answers in the layouts of models and servers (src/ragbed/models/thoughts.py)."""

from __future__ import annotations

import time

import pytest

from ragbed.models.thoughts import split_response

_HARMONY = "<|channel|>analysis<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}<|return|>"
PAIRED = {
    "think": "<think>{0}</think>{1}",
    "thought": "<thought>\n{0}\n</thought>\n\n{1}",
    "reasoning": "<reasoning>{0}</reasoning>{1}",
    "seed": "<seed:think>{0}</seed:think>{1}",
    "brackets": "[THINK]{0}[/THINK]{1}",
    "triangles": "◁think▷{0}◁/think▷{1}",
    "begin and end": "<|begin_of_thought|>\n\n{0}\n\n<|end_of_thought|>\n\n{1}",
    "a solution": "<|begin_of_thought|>{0}<|end_of_thought|><|begin_of_solution|>{1}<|end_of_solution|>",
    "start and end": "<|START_THINKING|>{0}<|END_THINKING|><|START_RESPONSE|>{1}<|END_RESPONSE|>",
    "unused tokens": "<unused94>thought\n{0}<unused95>{1}",
    "a channel of Gemma": "<|channel>thought\n{0}<channel|>{1}",
    "an answer tag": "<think>{0}</think>\n<answer>{1}</answer>",
    "a response tag": "<think>{0}</think><response>{1}</response>",
    "an answer tag without an end": "<think>{0}</think><answer>{1}",
    "harmony": _HARMONY,
    "harmony with a start": "<|start|>assistant" + _HARMONY,
    "harmony commentary": "<|channel|>commentary<|message|>{0}<|end|><|start|>assistant<|channel|>final<|message|>{1}",
    "a closing tag alone": "{0}</think>{1}",
    "a preface": "\n\n<think>{0}</think>\n\n{1}",
    # Tokens and characters that some servers put before the response.
    "after a start token": "<s><think>{0}</think>{1}",
    "after the start tokens of GLM": "[gMASK]<sop>\n<think>{0}</think>{1}",
    "after a start token of DeepSeek": "<｜begin▁of▁sentence｜><think>{0}</think>{1}",
    "after a byte order mark": "\ufeff<think>{0}</think>{1}",
}
TEXTS = {
    "en": ("The question is where.\nDocument 2 says Paris.", "It is Paris, 75000 (France)."),
    "zh": ("问题是哪座城市。\n文档2说是巴黎。", "答案是巴黎（法国）。"),
}


@pytest.mark.parametrize("lang", TEXTS)
@pytest.mark.parametrize("name", PAIRED)
def test_a_layout_is_split_exactly(name: str, lang: str) -> None:
    thought, answer = TEXTS[lang]
    assert split_response(PAIRED[name].format(thought, answer)) == (thought, answer, True)


OPEN = {
    "an opening tag alone": "<think>{0}",
    "an opening bracket alone": "[THINK]{0}",
    "an open channel": "<|channel|>analysis<|message|>{0}",
    "a space at the end": "<think>\n{0} \n",
}


@pytest.mark.parametrize("lang", TEXTS)
@pytest.mark.parametrize("name", OPEN)
def test_a_thought_without_an_end_is_not_an_answer(name: str, lang: str) -> None:
    thought, _ = TEXTS[lang]
    assert split_response(OPEN[name].format(thought)) == (thought, "", False)


@pytest.mark.parametrize("tag", ["<think>", "<think>\n", "[THINK]"])
def test_an_opening_tag_at_the_end_is_an_incomplete_response(tag: str) -> None:
    assert split_response(tag) == (None, "", False)


@pytest.mark.parametrize(
    "answer",
    [
        "Write <think> and </think> around it.",
        "It is <b>Paris</b>.",
        "The list [1, 2] and [THINKING] are names.",
        "Analysis: it is Paris.",
        "[Reasoning] Document 2 says Paris.",
        "【推理】文档2说是巴黎。",
        "analysis of the documents gives Paris",
        "【巴黎】",
        "  \n",
        "",
        "I think </b> it is Paris.",
        "<think />Paris",
        "<no_think>Paris",
        "\ufeffParis",
    ],
)
def test_an_answer_without_a_thought_is_unchanged(answer: str) -> None:
    assert split_response(answer) == (None, answer, True)


@pytest.mark.parametrize(
    ("text", "thought", "answer"),
    [
        ("<think>\n\n</think>\n\nParis", None, "Paris"),
        ("<think>a</think>One.\n<think>b</think>\nTwo.", "a\n\nb", "One.\n\nTwo."),
        ("<think>Hm</think><answer>Paris</answer>\nSource: 2", "Hm", "Paris\nSource: 2"),
        ("Sure.\n<think>\nHm\n</think>\nParis", "Hm", "Sure.\n\nParis"),
    ],
)
def test_text_around_thoughts_stays_in_the_answer(text: str, thought: str | None, answer: str) -> None:
    assert split_response(text) == (thought, answer, True)


@pytest.mark.parametrize("rest", ["<|endoftext|>", "</s>", "\n\nUser: Who won?", "assistant"])
def test_what_follows_the_end_of_a_harmony_message_is_not_part_of_the_answer(rest: str) -> None:
    assert split_response(_HARMONY.format("Hm", "Paris") + rest) == ("Hm", "Paris", True)


@pytest.mark.parametrize(
    "piece",
    [
        " ",
        "<think></think>",
        "\n<think>",
        "a <think> </think>",
        "<|channel|>x<|message|>",
    ],
)
def test_a_response_without_an_end_takes_seconds_at_most(piece: str) -> None:
    started = time.process_time()
    split_response(piece * (1_000_000 // len(piece)))
    assert time.process_time() - started < 10
