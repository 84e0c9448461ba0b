"""Runs batches without padding: prompts are read one behind the other, and a new token sees its own sequence only."""

from __future__ import annotations

import gc
from collections.abc import Callable
from collections.abc import Sequence as Several
from typing import Any

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from ragbed.models.failures import Failure
from ragbed.models.local.hf.attention import DecodeBatch, PrefillBatch, has_kernel
from ragbed.models.local.hf.kv_cache import SPARE, KVCache, KVSlots
from ragbed.models.local.hf.runner import Batching
from ragbed.models.local.hf.sequence import Sequence

_STEP = 64
"""Batches of new tokens are filled up to a multiple of this, or to a power of two below it: one graph for each size."""

_WORTHWHILE = 0.25
"""Of a full batch: what is read in less time than it takes to tell the GPU so, with a margin."""
_PATIENCE = 16
"""Steps that few newcomers wait for more to come."""
_FLASH = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
"""Without cuDNN's, which makes a plan for every new length: on an H200 that doubled the time to read."""


class RaggedRunner:
    """Runs a model whose attention is ours.

    Args:
        model: With `attention.NAME` as its attention.
        store: For keys and values.
        batching: How much at once.
    """

    def __init__(self, model: Any, store: KVCache, batching: Batching) -> None:
        self._model, self._device = model, model.device
        self._places, self._store = KVSlots(store.places), store
        self._batching, self._refused = batching, 0
        self._starts: dict[Sequence, int] = {}
        self._graphs = _Graphs(self._step) if has_kernel(self._device) else None

    def admit(self, waiting: Several[Sequence], running: int) -> list[Sequence]:
        """A batch that is worth it; a smaller one if at least as many wait as run, or have waited for some steps."""
        free, tokens = self._batching.width - running, 0
        admitted: list[Sequence] = []
        for sequence in waiting:
            tokens += sequence.length
            if len(admitted) == free or (admitted and tokens > self._batching.tokens):
                break
            start = self._places.take(sequence.room)
            if start is None:
                if not admitted and not running:
                    raise Failure("too-long", f"{sequence.room} tokens, and memory for {self._places.count}")
                break
            self._starts[sequence] = start
            admitted.append(sequence)
        worthwhile = len(admitted) >= running or tokens >= _WORTHWHILE * self._batching.tokens
        self._refused = 0 if worthwhile or not admitted else self._refused + 1
        if worthwhile or self._refused >= _PATIENCE:
            return admitted
        for sequence in admitted:
            self.release(sequence)
        return []

    def read(self, batch: Several[Sequence]) -> torch.Tensor:
        """All prompts as one long row."""
        borders: list[tuple[int, int]] = []
        tokens: list[int] = []
        positions: list[int] = []
        places: list[int] = []
        for sequence in batch:
            start, length = self._starts[sequence], sequence.length
            borders.append((len(tokens), len(tokens) + length))
            tokens += sequence.tokens
            positions += range(length)
            places += range(start, start + length)
        numbers = torch.tensor([tokens, positions, places], device=self._device)
        last = torch.tensor([end - 1 for _, end in borders], device=self._device)
        with sdpa_kernel(_FLASH):
            return self._forward(numbers[0], numbers[1], last, PrefillBatch(self._store, numbers[2], borders))

    def write(self, batch: Several[Sequence]) -> torch.Tensor:
        """One token of each, as a row; on a GPU as one recorded graph."""
        lengths = [sequence.length for sequence in batch]
        starts = [self._starts[sequence] for sequence in batch]
        numbers = [
            [sequence.written[-1] for sequence in batch],
            [length - 1 for length in lengths],
            [start + length - 1 for start, length in zip(starts, lengths, strict=True)],
            starts,
            lengths,
        ]
        if self._graphs is not None:
            return self._graphs.run(numbers)
        stretches = [(start, start + length) for start, length in zip(starts, lengths, strict=True)]
        return self._step(torch.tensor(numbers, device=self._device), stretches)

    def release(self, sequence: Sequence) -> None:
        """Its stretch is free again."""
        self._places.give_back(self._starts.pop(sequence), sequence.room)

    def _step(self, numbers: torch.Tensor, stretches: Several[tuple[int, int]] | None = None) -> torch.Tensor:
        tokens, positions, places, starts, lengths = numbers
        layout = DecodeBatch(self._store, places, starts, lengths, stretches)
        return self._forward(tokens, positions, 0, layout)

    def _forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        keep: torch.Tensor | int,
        layout: PrefillBatch | DecodeBatch,
    ) -> torch.Tensor:
        output = self._model(
            input_ids=tokens[None], position_ids=positions[None], use_cache=False, logits_to_keep=keep, layout=layout
        )
        scores: torch.Tensor = output.logits[0]
        return scores


class _Graphs:
    """Steps recorded once for each size of batch and played again: launching kernels takes longer than running them."""

    def __init__(self, step: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self._step = step
        self._recorded: dict[int, tuple[Any, torch.Tensor, torch.Tensor]] = {}
        self._pool: Any = None
        self._can_record = True

    def run(self, numbers: list[list[int]]) -> torch.Tensor:
        """Scores for each row."""
        rows = len(numbers[0])
        size = _full_size(rows)
        filling = ([0], [0], [SPARE], [SPARE], [1])
        full = torch.tensor([line + fill * (size - rows) for line, fill in zip(numbers, filling, strict=True)])
        if size not in self._recorded and self._can_record:
            self._record(full.cuda())
        if not self._can_record:
            return self._step(full.cuda())[:rows]
        graph, static, scores = self._recorded[size]
        static.copy_(full)
        graph.replay()
        return scores[:rows]

    def _record(self, numbers: torch.Tensor) -> None:
        """A model may do what cannot be recorded, as to look at numbers; then its steps are launched one by one."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._step(numbers)  # compiles kernels, which cannot be recorded
        torch.cuda.current_stream().wait_stream(side)
        gc.collect()  # a graph that goes while another is recorded spoils it
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                scores = self._step(numbers)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            self._can_record = False
            return
        self._pool = graph.pool()
        self._recorded[numbers.shape[1]] = (graph, numbers, scores)


def _full_size(rows: int) -> int:
    return -(-rows // _STEP) * _STEP if rows > _STEP else 1 << (rows - 1).bit_length()
