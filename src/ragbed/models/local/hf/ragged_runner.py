"""Run batches without padding: prompts are concatenated, and each token attends only to its own sequence."""

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
from ragbed.models.local.hf.sequence import Batching, Sequence

# Decoding batches are padded to a multiple of this many rows, and smaller batches to a power of two, to limit the
# number of CUDA graphs.
_GRAPH_STEP = 64
# Minimum size of a prefill batch, as a share of the maximum size; smaller batches spend most of their time on kernel
# launches.
_MIN_BATCH = 0.25
# Maximum number of steps for which a small prefill batch waits for more prompts.
_MAX_STEPS = 16
# cuDNN is excluded because it builds an execution plan for every new sequence length, which doubled the prefill time on
# an H200.
_BACKENDS = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


class RaggedRunner:
    """Runs a model with our own attention function.

    Args:
        model: A model that uses the attention function registered as `attention.NAME`.
        cache: The KV cache.
        batching: The batch limits.
    """

    def __init__(self, model: Any, cache: KVCache, batching: Batching) -> None:
        self._model, self._device = model, model.device
        self._slots, self._cache = KVSlots(cache.slots), cache
        self._batching, self._postponed = batching, 0
        self._starts: dict[Sequence, int] = {}
        self._graphs = _Graphs(self._step) if has_kernel(self._device) else None

    def admit(self, waiting: Several[Sequence], running: int) -> list[Sequence]:
        """Return a batch of prompts if it is large or the prompts have waited long enough, otherwise an empty list.

        A batch is large if it has enough tokens, or at least as many sequences as are running.
        """
        free, tokens = self._batching.width - running, 0
        admitted: list[Sequence] = []
        for sequence in waiting:
            tokens += sequence.length
            if len(admitted) == free or (admitted and tokens > self._batching.tokens):
                break
            start = self._slots.take(sequence.max_length)
            if start is None:
                if not admitted and not running:
                    problem = (
                        f"the case needs {sequence.max_length} tokens, but there is only memory for {self._slots.count}"
                    )
                    raise Failure("too-long", problem)
                break
            self._starts[sequence] = start
            admitted.append(sequence)
        is_large = len(admitted) >= running or tokens >= _MIN_BATCH * self._batching.tokens
        self._postponed = 0 if is_large or not admitted else self._postponed + 1
        if is_large or self._postponed >= _MAX_STEPS:
            return admitted
        for sequence in admitted:
            self.release(sequence)
        return []

    def read(self, batch: Several[Sequence]) -> torch.Tensor:
        """Prefill all prompts in a single row."""
        borders: list[tuple[int, int]] = []
        tokens: list[int] = []
        positions: list[int] = []
        slots: list[int] = []
        for sequence in batch:
            start, length = self._starts[sequence], sequence.length
            borders.append((len(tokens), len(tokens) + length))
            tokens += sequence.tokens
            positions += range(length)
            slots += range(start, start + length)
        numbers = torch.tensor([tokens, positions, slots], device=self._device)
        last = torch.tensor([end - 1 for _, end in borders], device=self._device)
        with sdpa_kernel(_BACKENDS):
            return self._forward(numbers[0], numbers[1], last, PrefillBatch(self._cache, numbers[2], borders))

    def write(self, batch: Several[Sequence]) -> torch.Tensor:
        """Decode one step for all sequences in a single row, using a CUDA graph on a GPU."""
        spans = [(start := self._starts[sequence], start + sequence.length) for sequence in batch]
        numbers = [
            [sequence.written[-1] for sequence in batch],
            [sequence.length - 1 for sequence in batch],
            [end - 1 for _, end in spans],
            [start for start, _ in spans],
            [sequence.length for sequence in batch],
        ]
        if self._graphs is not None:
            return self._graphs.run(numbers)
        return self._step(torch.tensor(numbers, device=self._device), spans)

    def release(self, sequence: Sequence) -> None:
        """Free a sequence's span in the cache."""
        self._slots.give_back(self._starts.pop(sequence), sequence.max_length)

    def _step(self, numbers: torch.Tensor, spans: Several[tuple[int, int]] | None = None) -> torch.Tensor:
        tokens, positions, slots, starts, lengths = numbers
        return self._forward(tokens, positions, 0, DecodeBatch(self._cache, slots, starts, lengths, spans))

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
        logits: torch.Tensor = output.logits[0]
        return logits


class _Graphs:
    """Records and replays a CUDA graph per batch size, because launching kernels takes longer than running them."""

    def __init__(self, step: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self._step = step
        self._recorded: dict[int, tuple[Any, torch.Tensor, torch.Tensor]] = {}
        self._pool: Any = None
        self._can_record = True

    def run(self, numbers: list[list[int]]) -> torch.Tensor:
        rows = len(numbers[0])
        size = -(-rows // _GRAPH_STEP) * _GRAPH_STEP if rows > _GRAPH_STEP else 1 << (rows - 1).bit_length()
        filling = ([0], [0], [SPARE], [SPARE], [1])
        full = torch.tensor([line + fill * (size - rows) for line, fill in zip(numbers, filling, strict=True)])
        if size not in self._recorded and self._can_record:
            self._record(full.cuda())
        if not self._can_record:
            return self._step(full.cuda())[:rows]
        graph, static, logits = self._recorded[size]
        static.copy_(full)
        graph.replay()
        return logits[:rows]

    def _record(self, numbers: torch.Tensor) -> None:
        """Record a step as a CUDA graph; if the model uses an operation that cannot be recorded, stop using graphs."""
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            self._step(numbers)  # compile the kernels first, because a CUDA graph cannot record compilation
        torch.cuda.current_stream().wait_stream(side)
        gc.collect()  # delete unused graphs now, because deleting a graph while recording would break the recording
        graph = torch.cuda.CUDAGraph()
        try:
            with torch.cuda.graph(graph, pool=self._pool, capture_error_mode="thread_local"):
                logits = self._step(numbers)
        except torch.OutOfMemoryError:
            raise
        except RuntimeError:
            self._can_record = False
            return
        self._pool = graph.pool()
        self._recorded[numbers.shape[1]] = (graph, numbers, logits)
