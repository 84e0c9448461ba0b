"""Measure the speed of `hf/` on one GPU with a 7.6B model of Qwen2's shape and random weights.

    python -m benches gpu [--prompts 512] [--temperature 0.7]

512 prompts of 500 to 2,200 tokens, with 128 new tokens each, are sent through the engine that `hf/` uses. The first
round compiles and records; the second is reported.
"""

from __future__ import annotations

import argparse
import json
import statistics
import threading
import time
from collections.abc import Callable
from collections.abc import Sequence as Several
from dataclasses import dataclass, field, replace
from random import Random

import torch
import transformers

from ragbed.models.base import Sampling
from ragbed.models.local.hf import loading
from ragbed.models.local.hf.attention import has_kernel
from ragbed.models.local.hf.batch_engine import BatchEngine
from ragbed.models.local.hf.sequence import Runner, Sequence, StopCondition

NEW_TOKENS = 128
SHORTEST, LONGEST = 500, 2200
# Bytes for the keys and values of one token: layers × 2 (keys and values) × heads × width × bytes per number.
KEPT_BYTES = 28 * 2 * 4 * 128 * 2
# Measured for a large bf16 matrix product on an H200; the data sheet says 990e12.
PEAK_FLOPS = 790e12
# Bytes per second, measured for a copy on an H200; the data sheet says 4.8e12.
BANDWIDTH = 4.3e12


@dataclass
class Timed:
    """A runner that measures its steps."""

    runner: Runner
    read_s: list[float] = field(default_factory=list)
    write_s: list[float] = field(default_factory=list)

    def admit(self, waiting: Several[Sequence], running: int) -> list[Sequence]:
        return self.runner.admit(waiting, running)

    def release(self, sequence: Sequence) -> None:
        self.runner.release(sequence)

    def read(self, batch: Several[Sequence]) -> torch.Tensor:
        return self._take(self.runner.read, batch, self.read_s)

    def write(self, batch: Several[Sequence]) -> torch.Tensor:
        return self._take(self.runner.write, batch, self.write_s)

    def _take(
        self, run: Callable[[Several[Sequence]], torch.Tensor], batch: Several[Sequence], into: list[float]
    ) -> torch.Tensor:
        started = time.perf_counter()
        scores = run(batch)
        torch.cuda.synchronize()
        into.append(time.perf_counter() - started)
        return scores


def build_model() -> transformers.Qwen2ForCausalLM:
    config = transformers.Qwen2Config(
        vocab_size=152_064, hidden_size=3584, intermediate_size=18_944, num_hidden_layers=28, num_attention_heads=28,
        num_key_value_heads=4, max_position_embeddings=32_768, rope_theta=1e6, use_sliding_window=False,
    )  # fmt: skip
    torch.set_default_dtype(torch.bfloat16)
    with torch.device("cuda"):
        model = transformers.Qwen2ForCausalLM(config).eval()
    torch.set_default_dtype(torch.float32)
    return model


def run_round(timed: Timed, prompts: list[list[int]], sampling: Sampling) -> float:
    """Return the duration for all prompts in seconds."""
    left, all_done = len(prompts), threading.Event()

    def done(sequence: Sequence) -> None:
        nonlocal left
        assert len(sequence.written) == NEW_TOKENS, sequence.failure
        left -= 1
        if not left:
            all_done.set()

    batching = replace(loading.GPU)
    engine = BatchEngine(lambda: timed, batching, sampling, StopCondition(frozenset()))
    started = time.perf_counter()
    for number, prompt in enumerate(prompts):
        engine.submit(Sequence(prompt, NEW_TOKENS, Random(number), done))
    while not all_done.wait(1):
        if engine.broken is not None:
            raise engine.broken
    seconds = time.perf_counter() - started
    engine.close()
    engine.join(60)
    return seconds


def floor_s(parameters: int, prompts: list[list[int]], bytes_per_token: int) -> float:
    """Return the minimum time per prompt, with full-speed matrix products and one read of the KV cache per token."""
    read = [len(prompt) for prompt in prompts]
    flops = 2 * parameters * (sum(read) + NEW_TOKENS * len(prompts))
    kept = sum(NEW_TOKENS * (length + NEW_TOKENS / 2) * bytes_per_token for length in read)
    return (flops / PEAK_FLOPS + kept / BANDWIDTH) / len(prompts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--prompts", type=int, default=512)
    parser.add_argument("--temperature", type=float, default=0.0)
    options = parser.parse_args()
    rng = Random(0)
    model = build_model()
    parameters = sum(weights.numel() for weights in model.parameters())
    prompts = [[rng.randrange(152_000) for _ in range(rng.randint(SHORTEST, LONGEST))] for _ in range(options.prompts)]
    started = time.perf_counter()
    runner = loading.choose_runner(model, replace(loading.GPU))
    opened_s = time.perf_counter() - started
    sampling = Sampling(temperature=options.temperature, top_p=0.8 if options.temperature else 1.0)
    timed = Timed(runner)
    first_s = run_round(timed, prompts, sampling)
    timed = Timed(runner)
    seconds = run_round(timed, prompts, sampling)
    print(json.dumps({
        "gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "transformers": transformers.__version__,
        "runner": type(runner).__name__, "kernel": has_kernel(model.device), "parameters": parameters,
        "prompts": len(prompts), "tokens_mean": statistics.fmean(map(len, prompts)), "opened_s": round(opened_s, 2),
        "first_round_s": round(first_s, 2), "seconds": round(seconds, 2),
        "s_per_prompt": round(seconds / len(prompts), 4),
        "reading_s_per_prompt": round(sum(timed.read_s) / len(prompts), 4),
        "writing_s_per_prompt": round(sum(timed.write_s) / len(prompts), 4),
        "writing_step_ms": round(statistics.median(timed.write_s) * 1000, 2), "steps": len(timed.write_s),
        "floor_s_per_prompt": round(floor_s(parameters, prompts, KEPT_BYTES), 4),
        "memory_gb": round(torch.cuda.max_memory_allocated() / 1e9, 1),
    }, indent=1))  # fmt: skip
