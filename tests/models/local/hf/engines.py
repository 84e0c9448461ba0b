"""Run sequences through an engine."""

from __future__ import annotations

from queue import SimpleQueue
from random import Random
from typing import Any

from ragbed.models.base import Sampling
from ragbed.models.local.hf.batch_engine import BatchEngine
from ragbed.models.local.hf.loading import choose_runner
from ragbed.models.local.hf.sequence import Batching, Sequence, StopCondition

GREEDY = Sampling(temperature=0.0)
NEVER = StopCondition(frozenset())


def some_prompts(count: int, shortest: int = 3, longest: int = 60) -> list[list[int]]:
    """Return prompts of different lengths, always the same."""
    dice = Random(0)
    return [[dice.randrange(256) for _ in range(dice.randint(shortest, longest))] for _ in range(count)]


def answer_all(
    network: Any,
    prompts: list[list[int]],
    *,
    width: int = 64,
    tokens: int = 512,
    new: int = 24,
    sampling: Sampling = GREEDY,
    ending: StopCondition = NEVER,
) -> list[Sequence]:
    """Complete all prompts, and return the sequences in order."""
    batching = Batching(tokens, width)
    done: SimpleQueue[Sequence] = SimpleQueue()
    sequences = [Sequence(prompt, new, Random(number), done.put) for number, prompt in enumerate(prompts)]
    engine = BatchEngine(lambda: choose_runner(network, batching), batching, sampling, ending)
    for sequence in sequences:
        engine.submit(sequence)
    for _ in sequences:
        done.get(timeout=60)
    engine.close()
    engine.join(10)
    if engine.broken is not None:
        raise engine.broken
    return sequences
