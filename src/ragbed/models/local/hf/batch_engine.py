"""Run a model in a thread: prefill prompts in full batches, decode all sequences together, and sample their tokens."""

from __future__ import annotations

import gc
from collections.abc import Callable
from collections.abc import Sequence as Several
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

import torch

from ragbed.models.base import Sampling
from ragbed.models.failures import Failure
from ragbed.models.local.hf.sequence import NOT_A_NUMBER, Batching, Runner, Sequence, StopCondition

# Number of most probable tokens to consider first. Their total probability nearly always reaches `top_p`, and sorting
# the entire vocabulary would take longer than running the model.
_TOP_K = 1024


class BatchEngine:
    """Completes sequences and calls `done` for each one; sequences without a finish reason or failure were abandoned.

    Args:
        open_runner: A function that loads the model in the thread. If it raises an exception, `broken` is set to it.
        batching: The batch limits, which are reduced if there is too little memory.
        sampling: The sampling parameters for all sequences.
        stop: The condition that ends a response.
    """

    def __init__(
        self, open_runner: Callable[[], Runner], batching: Batching, sampling: Sampling, stop: StopCondition
    ) -> None:
        self._open_runner, self._batching, self._sampling, self._stop = open_runner, batching, sampling, stop
        self._incoming: SimpleQueue[Sequence | None] = SimpleQueue()
        self._waiting: list[Sequence] = []
        self._running: list[Sequence] = []
        self._thread = Thread(target=self._serve, name="ragbed-hf", daemon=True)
        self._closing = self._has_ended = False
        self.broken: BaseException | None = None

    def submit(self, sequence: Sequence) -> None:
        """Add a sequence, whose `done` callback will be called in the engine's thread."""
        if not self._thread.ident:
            self._thread.start()
        self._incoming.put(sequence)
        if self._has_ended:
            self._abandon()

    def close(self) -> None:
        """Stop after the current step and abandon the remaining sequences."""
        self._closing = True
        self._incoming.put(None)

    def join(self, timeout_s: float) -> None:
        """Wait for the thread to end."""
        if self._thread.ident:
            self._thread.join(timeout_s)

    def _serve(self) -> None:
        try:
            with torch.inference_mode():
                self._runner = self._open_runner()
                while self._receive():
                    self._advance()
        except BaseException as error:  # every waiting task must receive the error
            self.broken = error
        finally:
            self._has_ended = True
            self._abandon()

    def _receive(self) -> bool:
        """Queue new sequences by length, waiting for one if there is no work. Return False if the engine is closing."""
        with suppress(Empty):
            while not self._closing:
                sequence = self._incoming.get(block=not self._waiting and not self._running)
                if sequence is not None:
                    self._waiting.append(sequence)
        self._waiting.sort(key=lambda sequence: -sequence.length)
        return not self._closing

    def _advance(self) -> None:
        try:
            batch = self._runner.admit(self._waiting, len(self._running))
        except Failure as failure:
            self._fail(self._waiting.pop(0), failure)
            return
        fits = self._step(batch or self._running, self._runner.read if batch else self._runner.write)
        if batch:  # dequeue only after the step, so that no sequence is lost if the step raises an exception
            admitted = set(batch)
            self._waiting = [sequence for sequence in self._waiting if sequence not in admitted]
        if not fits:
            self._reduce(batch)

    def _step(self, batch: list[Sequence], run: Callable[[list[Sequence]], torch.Tensor]) -> bool:
        """Run a batch and return whether there was enough memory."""
        try:
            tokens = choose(run(batch), self._sampling, [sequence.random_number() for sequence in batch])
        except torch.OutOfMemoryError:
            return False
        pairs = zip(batch, tokens, strict=True)
        ended = dict.fromkeys(sequence for sequence, token in pairs if sequence.add(token, self._stop))
        self._running = [sequence for sequence in dict.fromkeys([*self._running, *batch]) if sequence not in ended]
        for sequence in ended:
            self._runner.release(sequence)
            sequence.done(sequence)
        return True

    def _reduce(self, batch: list[Sequence]) -> None:
        """After an out-of-memory error, requeue all sequences, keeping their tokens, and halve the batch size."""
        affected = [*self._running, *batch]
        for sequence in affected:
            self._runner.release(sequence)
        self._running = []
        gc.collect()  # the exception may still hold references to tensors from the step
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(affected) == 1:
            self._fail(
                affected[0],
                Failure("too-long", f"{affected[0].max_length} tokens require more memory than is available"),
            )
            return
        self._waiting += affected
        self._batching.tokens = max(1, min(self._batching.tokens, sum(sequence.length for sequence in affected)) // 2)
        self._batching.width = max(1, min(self._batching.width, len(affected)) // 2)

    def _fail(self, sequence: Sequence, failure: Failure) -> None:
        sequence.failure = failure
        sequence.done(sequence)

    def _abandon(self) -> None:
        with suppress(Empty):
            while True:
                sequence = self._incoming.get(block=False)
                if sequence is not None:
                    self._waiting.append(sequence)
        left, self._waiting, self._running = [*self._waiting, *self._running], [], []
        for sequence in left:
            sequence.done(sequence)


def choose(logits: torch.Tensor, sampling: Sampling, numbers: Several[int]) -> list[int]:
    """Return the next token for every row, or `NOT_A_NUMBER` for rows whose logits are not finite.

    Args:
        logits: One row for each sequence, one column for each token.
        sampling: The sampling parameters; temperature 0 selects the most probable token.
        numbers: A random number of up to 62 bits for each row.
    """
    if sampling.temperature == 0:
        chosen = logits.argmax(-1, keepdim=True)
    else:
        seeds = torch.tensor(numbers, device=logits.device)[:, None]
        chosen = _sample(torch.softmax(logits.float() / sampling.temperature, -1), sampling.top_p, seeds)
    is_finite = logits.gather(-1, chosen).isfinite()
    tokens: list[int] = torch.where(is_finite, chosen, NOT_A_NUMBER)[:, 0].tolist()
    return tokens


def _sample(shares: torch.Tensor, top_p: float, seeds: torch.Tensor) -> torch.Tensor:
    """Use the Gumbel trick to sample from the most probable tokens whose total probability reaches `top_p`.

    The result for a row does not depend on other rows. Small numerical differences between batches change it only if
    two tokens are nearly tied.
    """
    if top_p == 1:
        likely, order = shares, torch.arange(shares.shape[-1], device=shares.device).expand(shares.shape)
    else:
        likely, order = shares.topk(min(_TOP_K, shares.shape[-1]))
        if bool((likely.sum(-1) < top_p).any()):
            likely, order = torch.sort(shares, dim=-1, descending=True, stable=True)
    kept = likely.cumsum(-1) - likely < top_p
    kept[:, 0] = True
    return order.gather(-1, (torch.where(kept, likely, 0).log() + _gumbel_noise(seeds, order)).argmax(-1, keepdim=True))


def _gumbel_noise(seeds: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return Gumbel noise for each seed and token, generated with the mixing steps of SplitMix64."""
    mixed = seeds + (tokens + 1) * _GOLDEN
    for shift, factor in _MIXING:
        mixed = (mixed ^ ((mixed >> shift) & ((1 << (64 - shift)) - 1))) * factor
    uniform = ((mixed >> 12) & _LOW_52).double() + 0.5
    return -(-(uniform / (1 << 52)).log()).log()


def _signed(number: int) -> int:
    return number - (1 << 64) if number >> 63 else number


_GOLDEN = _signed(0x9E3779B97F4A7C15)
_MIXING = ((30, _signed(0xBF58476D1CE4E5B9)), (27, _signed(0x94D049BB133111EB)))
_LOW_52 = (1 << 52) - 1
