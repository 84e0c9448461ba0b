"""Test that the engine gives the responses of the library, whatever the batch."""

from __future__ import annotations

from queue import SimpleQueue
from random import Random
from typing import Any

import pytest
import torch

from ragbed.models.base import Sampling
from ragbed.models.local.hf.batch_engine import BatchEngine
from ragbed.models.local.hf.loading import choose_runner
from ragbed.models.local.hf.sequence import Batching, Sequence, StopCondition
from tests.models.local.hf.engines import GREEDY, NEVER, answer_all, some_prompts
from tests.models.local.hf.small import ARCHITECTURES, make_network

SAMPLED = Sampling(temperature=0.9, top_p=0.8)


def written(sequences: list[Sequence]) -> list[list[int]]:
    return [sequence.written for sequence in sequences]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_replies_are_those_of_the_library(architecture: str) -> None:
    network, prompts = make_network(architecture), some_prompts(12)
    network.generation_config.eos_token_id = None
    wanted = []
    for prompt in prompts:
        given = {"input_ids": torch.tensor([prompt]), "attention_mask": torch.ones(1, len(prompt), dtype=torch.long)}
        whole = network.generate(**given, do_sample=False, max_new_tokens=24, pad_token_id=0)
        wanted.append(whole[0, len(prompt) :].tolist())
    assert written(answer_all(network, prompts)) == wanted


@pytest.mark.parametrize("architecture", ["qwen2", "bloom"])
@pytest.mark.parametrize("sampling", [GREEDY, SAMPLED])
def test_the_batch_does_not_change_replies(architecture: str, sampling: Sampling) -> None:
    network, prompts = make_network(architecture), some_prompts(100)
    alone = written(answer_all(network, prompts, width=1, new=8, sampling=sampling))
    together = written(answer_all(network, prompts, width=64, tokens=4096, new=8, sampling=sampling))
    same = sum(one == other for one, other in zip(alone, together, strict=True))
    assert same >= 0.99 * len(prompts)
    assert len({tuple(reply) for reply in alone}) > len(prompts) / 2


def test_sequences_that_end_early_make_room_for_others() -> None:
    network, prompts = make_network("qwen2"), some_prompts(40)
    plain = written(answer_all(network, prompts))
    end = max(range(256), key=lambda token: sum(token in reply for reply in plain))
    ended = answer_all(network, prompts, width=4, ending=StopCondition(frozenset({end})))
    for sequence, reply in zip(ended, plain, strict=True):
        cut = reply.index(end) if end in reply else len(reply)
        assert (sequence.written, sequence.finish) == (reply[:cut], "stop" if end in reply else "length")
    assert {sequence.finish for sequence in ended} == {"stop", "length"}


@pytest.mark.parametrize("architecture", ["qwen2", "bloom"])
@pytest.mark.parametrize("most", [40, 100])
def test_out_of_memory_leads_to_smaller_batches_and_loses_nothing(architecture: str, most: int) -> None:
    network, prompts = make_network(architecture), some_prompts(30, longest=20)
    wanted = written(answer_all(network, prompts))
    network = make_network(architecture)
    failures = limit_memory(network, most)
    assert written(answer_all(network, prompts)) == wanted
    assert failures


def limit_memory(network: Any, most: int) -> list[int]:
    """Raise an out-of-memory error for more than this many tokens at once."""
    failures: list[int] = []

    def check(_module: object, _given: object, named: dict[str, Any]) -> None:
        count = named["input_ids"].numel()
        if count > most:
            failures.append(count)
            raise torch.OutOfMemoryError(f"{count} tokens")

    network.register_forward_pre_hook(check, with_kwargs=True)
    return failures


def test_a_sequence_that_never_fits_fails_alone() -> None:
    network, prompts = make_network("qwen2"), some_prompts(10, longest=30)
    limit_memory(network, 50)
    prompts[3] = [1] * 70
    done = answer_all(network, prompts)
    assert str(done[3].failure) == "too-long: 94 tokens require more memory than is available"
    assert all(len(sequence.written) == 24 for sequence in done if sequence is not done[3])


def test_weights_that_are_not_numbers_are_an_error() -> None:
    network = make_network("qwen2")
    with torch.no_grad():
        network.model.norm.weight.fill_(float("nan"))
    assert type(choose_runner(make_network("qwen2"), Batching(512, 8))).__name__ == "RaggedRunner"
    done = answer_all(network, some_prompts(2))
    assert [sequence.failure and sequence.failure.kind for sequence in done] == ["protocol", "protocol"]


@pytest.mark.parametrize("at", [1, 4])
def test_an_exception_in_a_step_reaches_all_sequences(at: int) -> None:
    network, finished, calls = make_network("qwen2"), SimpleQueue[Sequence](), 0
    batching = Batching(64, 4)
    runner = choose_runner(network, batching)

    def breaks(*_: object) -> None:
        nonlocal calls
        calls += 1
        if calls == at:
            raise ValueError("a defect")

    network.register_forward_pre_hook(breaks)
    engine = BatchEngine(lambda: runner, batching, GREEDY, NEVER)
    for prompt in some_prompts(8):
        engine.submit(Sequence(prompt, 4, Random(0), finished.put))
    for _ in range(8):
        finished.get(timeout=30)
    engine.join(10)
    assert str(engine.broken) == "a defect"


def test_an_exception_while_loading_reaches_all_sequences() -> None:
    def broken() -> Any:
        raise ValueError("no such model")

    finished: list[Sequence] = []
    engine = BatchEngine(broken, Batching(64, 4), GREEDY, NEVER)
    for _ in range(3):
        engine.submit(Sequence([1, 2], 4, Random(0), finished.append))
    engine.join(10)
    engine.submit(Sequence([1, 2], 4, Random(0), finished.append))
    assert len(finished) == 4
    assert str(engine.broken) == "no such model"
    assert all(sequence.finish is None for sequence in finished)


def test_closing_ends_the_engine_before_responses_are_complete() -> None:
    batching = Batching(512, 8)
    finished: list[Sequence] = []
    engine = BatchEngine(lambda: choose_runner(make_network("qwen2"), batching), batching, GREEDY, NEVER)
    for prompt in some_prompts(20):
        engine.submit(Sequence(prompt, 1500, Random(0), finished.append))
    engine.close()
    engine.join(20)
    assert len(finished) == 20
    assert engine.broken is None
