"""Measure the overhead of a run compared with llama.cpp alone, and how much shared prefixes save.

    python -m benches llamacpp [--items N] [--model FILE.gguf]

The same cases are executed twice, by a run and by a bare loop with the engine in this process, with the same settings
and in the same order. The two alternate case by case, so that other load on the machine affects both.
"""

from __future__ import annotations

import os

os.environ["OMP_WAIT_POLICY"] = "PASSIVE"  # must be set before the library is loaded; runs do the same

import argparse
import json
import time
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import xllamacpp  # type: ignore[import-untyped]

from ragbed.data.catalog import open_data
from ragbed.models import ModelConfig, open_model
from ragbed.models.base import Sampling
from ragbed.models.local.llama_child import parameters
from ragbed.models.local.llama_process import count_cores
from ragbed.models.local.llamacpp import LlamaModel, find_weights
from ragbed.runs.call_loop import CallProgress
from ragbed.runs.execution import Job, run
from ragbed.runs.store import open_store
from ragbed.schema import Case
from ragbed.testbeds import DEFAULT_TESTBEDS, TESTBEDS
from ragbed.testbeds.settings import Settings

MAX_TOKENS = 64
KEY = "bench"


@dataclass
class Bare:
    """The engine in this process, called in a plain loop."""

    server: Any
    requests: list[dict[str, Any]]
    seconds: float = 0.0
    written: int = 0
    read: int = 0
    cached: int = 0
    done: int = 0

    def call_next(self, *_: object) -> None:
        """Send the request that the run has just sent."""
        started = time.perf_counter()
        reply = self.server.handle_chat_completions(self.requests[self.done])
        self.seconds += time.perf_counter() - started
        self.done += 1
        self.written += reply["usage"]["completion_tokens"]
        self.read += reply["usage"]["prompt_tokens"]
        self.cached += reply["timings"]["cache_n"]

    def tokens(self, request: bytes) -> list[int]:
        """Return the tokens in a prompt."""
        prompt = self._post("apply-template", request)["prompt"]
        body = json.dumps({"content": prompt, "add_special": True, "parse_special": True}).encode()
        return list(self._post("tokenize", body)["tokens"])

    def _post(self, path: str, body: bytes) -> dict[str, Any]:
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.server.listening_address}/{path}", body, headers)
        with urllib.request.urlopen(request) as response:
            return dict(json.load(response))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=4, help="items of each dataset; one of each gives 13 cases")
    parser.add_argument("--model", type=Path, default=find_weights("smollm2"))
    options = parser.parse_args()
    sampling = Sampling(max_tokens=MAX_TOKENS)
    model = open_model(f"llamacpp/{options.model}", lambda name: ModelConfig(name, os.environ, sampling))
    assert isinstance(model, LlamaModel)
    cases = _cases(options.items)
    with TemporaryDirectory() as folder:
        _report(model, cases, *_measure(model, cases, Path(folder)))


def _cases(items: int) -> list[Case]:
    datasets = open_data([f"ragbed-mini-en_{kind}" for kind in ("base", "int", "fact")])
    testbeds = [TESTBEDS[name] for name in DEFAULT_TESTBEDS]
    cases = (case for data in datasets for bed in testbeds for case in bed.cases(data, Settings(limit=items)))
    return [case for case in cases if case.feasible]


def _measure(model: LlamaModel, cases: Sequence[Case], folder: Path) -> tuple[Bare, float, list[dict[str, int]]]:
    wanted = {"path": str(model.weights.path), "context": model.weights.context, "slots": 1, "threads": count_cores()}
    server = xllamacpp.Server(parameters(xllamacpp.CommonParams(), wanted | {"key": KEY}))
    job = Job(folder=folder, settings={}, cases=lambda: cases, models=[model])
    with open_store(folder, create=True) as store:
        store.plan(job.settings, cases)
        order = [ask.case for ask in store.pending(1, 1, by_prompt=True)]
    bare = Bare(server, [json.loads(model.request(case)) for case in order])

    def alternate(_: str, progress: CallProgress) -> None:
        bare.call_next()
        print(f"\r{progress.done} of {progress.total}", end="", flush=True)

    started = time.perf_counter()
    run(job, alternate)
    seconds = time.perf_counter() - started - bare.seconds
    with open_store(folder, create=False) as store:
        replies = [result.completion for result in store.results()]
    assert all(reply.outcome == "ok" for reply in replies), [reply.error for reply in replies]
    return bare, seconds, [reply.usage or {} for reply in replies]


def _report(model: LlamaModel, cases: Sequence[Case], bare: Bare, seconds: float, usage: list[dict[str, int]]) -> None:
    written, read = sum(one["out"] for one in usage), sum(one["in"] for one in usage)
    cached = sum(one["cached"] for one in usage)
    print(f"\r{len(cases)} cases, {read:,} prompt tokens, {written:,} new tokens, {count_cores()} threads")
    print(f"the same as in the bare loop: {(bare.read, bare.cached, bare.written) == (read, cached, written)}")
    speeds = [(read - cached + written) / took for took in (bare.seconds, seconds)]
    print(f"bare loop {bare.seconds:.1f} s, {speeds[0]:.1f} tokens/s; run {seconds:.1f} s, {speeds[1]:.1f} tokens/s")
    print(f"run / bare loop: {speeds[1] / speeds[0]:.1%} (target: ≥ 95 %)")
    prompts = [bare.tokens(model.request(case)) for case in cases]
    # No order saves more than this: if the prompts are sorted, every common prefix is read once.
    allowed, planned = _shared(sorted(prompts)), _shared(prompts)
    print(f"of {read:,} tokens the common prefixes allow {allowed:,} to be skipped ({allowed / read:.1%});")
    print(f"in the order of the plan {planned / allowed:.1%} of that, sorted {cached / allowed:.1%} (target: ≥ 90 %)")


def _shared(prompts: list[list[int]]) -> int:
    """Return the number of tokens that each prompt shares with the start of the previous one."""
    return sum(
        len(list(takewhile(lambda two: two[0] == two[1], zip(*pair, strict=False)))) for pair in pairwise(prompts)
    )
