"""The thread that runs the model: takes prompts as they come, reads them in full batches, writes to all at once."""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread

import torch

from ragbed.models.base import Sampling
from ragbed.models.failures import Failure
from ragbed.models.local.hf.runner import Batching, Runner
from ragbed.models.local.hf.sampling import choose
from ragbed.models.local.hf.sequence import Sequence, StopCondition


class BatchEngine:
    """Answers sequences, each by its `done`; one that has neither finish nor failure then will not be answered.

    Args:
        open_runner: Loads the model; called in the thread. What it raises is kept in `broken`.
        batching: Shrunk when the memory does not suffice.
        sampling: Of all sequences.
        ending: Of all replies.
    """

    def __init__(
        self, open_runner: Callable[[], Runner], batching: Batching, sampling: Sampling, ending: StopCondition
    ) -> None:
        self._open_runner, self._batching, self._sampling, self._ending = open_runner, batching, sampling, ending
        self._coming: SimpleQueue[Sequence | None] = SimpleQueue()
        self._waiting: list[Sequence] = []
        self._running: list[Sequence] = []
        self._thread = Thread(target=self._serve, name="ragbed-hf", daemon=True)
        self._closing = self._has_ended = False
        self.broken: BaseException | None = None

    def submit(self, sequence: Sequence) -> None:
        """Hands a sequence in; its `done` is called in another thread."""
        if not self._thread.ident:
            self._thread.start()
        self._coming.put(sequence)
        if self._has_ended:
            self._abandon()

    def close(self) -> None:
        """Stops after the step that is running; what is not answered by then stays so."""
        self._closing = True
        self._coming.put(None)

    def join(self, timeout_s: float) -> None:
        """Waits for the thread to end."""
        if self._thread.ident:
            self._thread.join(timeout_s)

    def _serve(self) -> None:
        try:
            with torch.inference_mode():
                self._runner = self._open_runner()
                while self._take_coming():
                    self._advance()
        except BaseException as error:  # whoever waits must hear of it, whatever it is
            self.broken = error
        finally:
            self._has_ended = True
            self._abandon()

    def _take_coming(self) -> bool:
        """Sorts newcomers in, the longest first; waits for them if there is nothing else to do."""
        with suppress(Empty):
            while not self._closing:
                idle = not self._waiting and not self._running
                sequence = self._coming.get(block=idle)
                if sequence is not None:
                    self._waiting.append(sequence)
        self._waiting.sort(key=lambda sequence: -sequence.length)
        return not self._closing

    def _advance(self) -> None:
        """Reads one batch, or writes one token to each that runs."""
        try:
            batch = self._runner.admit(self._waiting, len(self._running))
        except Failure as failure:
            self._fail(self._waiting.pop(0), failure)
            return
        sufficed = self._attempt(batch or self._running, self._runner.read if batch else self._runner.write)
        if batch:  # only now: whoever is in neither list when something breaks would wait for ever
            admitted = set(batch)
            self._waiting = [sequence for sequence in self._waiting if sequence not in admitted]
        if not sufficed:
            self._retreat(batch)

    def _attempt(self, batch: list[Sequence], run: Callable[[list[Sequence]], torch.Tensor]) -> bool:
        """Whether the memory sufficed."""
        try:
            scores = run(batch)
            tokens = choose(scores, self._sampling, [sequence.throw() for sequence in batch])
        except torch.OutOfMemoryError:
            return False
        taken = zip(batch, tokens, strict=True)
        whole = dict.fromkeys(sequence for sequence, token in taken if sequence.take(token, self._ending))
        self._running = [sequence for sequence in dict.fromkeys([*self._running, *batch]) if sequence not in whole]
        for sequence in whole:
            self._runner.release(sequence)
            sequence.done(sequence)
        return True

    def _retreat(self, batch: list[Sequence]) -> None:
        """Out of memory: all go back to those waiting, with what they have written, and less is done at once."""
        affected = [*self._running, *batch]
        for sequence in affected:
            self._runner.release(sequence)
        self._running = []
        gc.collect()  # what was under way when the memory ran out may hang on the error that said so
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(affected) == 1:
            self._fail(affected[0], Failure("too-long", f"{affected[0].room} tokens need more memory than there is"))
            return
        self._waiting += affected
        self._batching.tokens = min(self._batching.tokens, sum(sequence.length for sequence in affected))
        self._batching.width = min(self._batching.width, len(affected))
        self._batching.shrink()

    def _fail(self, sequence: Sequence, failure: Failure) -> None:
        sequence.failure = failure
        sequence.done(sequence)

    def _abandon(self) -> None:
        """Tells all that are left that no answer will come."""
        with suppress(Empty):
            while True:
                sequence = self._coming.get(block=False)
                if sequence is not None:
                    self._waiting.append(sequence)
        left, self._waiting, self._running = [*self._waiting, *self._running], [], []
        for sequence in left:
            sequence.done(sequence)
