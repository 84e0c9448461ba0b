"""Call a model through its provider's batch API.

A batch is stored before it is submitted, with a key that is also sent to the provider. If the process is killed, the
next session looks up the batch by its key, so no batch is created twice. Each case still has its own result, cache
entry and cost.

Requests have the highest token limit from the start, because a truncated response would cost another batch. A request
that the server rejects without a charge is sent again in the next batch, without the parameter or with a lower limit.
Direct calls do this immediately (`token_limit.py`, `negotiation.py`).
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, NamedTuple, TypeAlias, cast

import msgspec
from msgspec.structs import replace

from ragbed.errors import option
from ragbed.models.base import Batching
from ragbed.models.failures import REJECTED, Failure, failed
from ragbed.models.providers.batches import BatchLine, LineResult, RemoteBatch
from ragbed.runs.batch_records import BATCH, StoredBatch, read_batches
from ragbed.runs.call_loop import CallLoop
from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.store import NOTE, Called, CallRequest
from ragbed.schema import Case, Completion
from ragbed.text import counted

Call: TypeAlias = tuple[int, int]  # case number and repeat
_FIRST_POLL_S, _LONGEST_POLL_S = 0.5, 60.0
_MAX_EXPIRED = 3  # maximum number of batches in which a case may expire before it counts as an error
_MAX_REJECTIONS = 4  # maximum number of rejections per call; each one reveals at most one unsupported parameter
_MAX_CREATIONS = 3  # maximum number of attempts to create a batch if it does not appear in the provider's list
# Maximum time for which a new batch may be missing from the provider's list, and time between lookups, in seconds.
_LISTED_AFTER_S, _LISTING_PAUSE_S = 120.0, 5.0
_FULL_PAUSE_S = 60.0  # pause before the next batch if the provider's queue is full and no batch is open
_KEPT_S = 20 * 86_400.0  # minimum time in seconds for which providers keep the results of a batch


class _SentCall(NamedTuple):
    """A call as it was sent in a batch."""

    call: Call
    request: CallRequest
    max_tokens: int
    body: bytes


@dataclass
class _OpenBatch:
    """A batch in progress, with its requests ordered by ID."""

    stored: StoredBatch
    requests: list[CallRequest]
    remote: RemoteBatch | None = None


class BatchLoop(CallLoop):
    """A call loop that sends one model's requests in batches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._batching = cast("Batching", self.model)
        self._service = self._batching.open_batches()
        self._max_lines = self._service.max_lines
        self._limits: dict[Call, int] = {}  # the token limits of calls whose higher limit was rejected
        self._rejections: Counter[Call] = Counter()
        self._rejected = set[bytes]()  # requests, none of which is sent again
        self._open: list[_OpenBatch] = []
        self._expired: Counter[Call] = Counter()
        self._ended: set[Call] = set()
        self._refused: str | None = None
        self._is_full = False
        self._reserved: dict[str, list[Decimal]] = {}  # the highest cost of each request, by batch
        self._waits_for_budget = False  # whether other models' batches have to release their reservations first

    async def run(self) -> None:
        """Collect batches from earlier sessions, then submit all pending cases and collect their results.

        Raises:
            CircuitOpen: The provider rejected a batch or cannot be reached. A later session collects open batches.
        """
        for batch in read_batches(self.session.store, self.number, collected=True):
            self._batching.negotiation.add(batch.learned)
        try:
            for stored in read_batches(self.session.store, self.number):
                await self._resume(stored)
            while True:
                await self._submit_all()
                if self._open:
                    await self._collect(await self._wait_for_one())
                elif self._waits_for_budget:
                    await asyncio.sleep(_FIRST_POLL_S)
                else:
                    break
        except Failure as failure:
            raise CircuitOpen(
                f"the batch service of {self.model.name} cannot be reached: {failure}. {self.model.advice} Batches in "
                "progress continue to run on the provider's servers. Rerun the same command with the same output "
                "folder to resume."
            ) from None
        finally:
            if self.session.job.budget is not None:
                for _ in (cost for costs in self._reserved.values() for cost in costs):
                    self.session.job.budget.abandon()
        if self._refused is not None:
            raise CircuitOpen(
                f"{self.model.name}: the provider rejected a batch: {self._refused}. {self.model.advice} If the "
                f"provider has no batch API that is compatible with OpenAI's or Anthropic's, omit {option('batch')}."
            )
        self._tell_fix()

    # Methods that submit batches.

    async def _submit_all(self) -> None:
        if self._is_full:
            if self._open:
                return  # submit no batches until one of the open batches has ended
            await asyncio.sleep(_FULL_PAUSE_S)
            self._is_full = False
        while self._refused is None:
            batch = await self._next_batch()
            if batch is None:
                return
            await self._save(batch, "intended")
            await self._create(batch)

    async def _next_batch(self) -> _OpenBatch | None:
        """Return the next requests as a batch that stays within the provider's limits and the budget.

        Requests with cached responses or prompts that are too long are not included; their results are stored
        immediately.
        """
        busy = {(request.number, request.repeat) for batch in self._open for request in batch.requests}
        requests: list[CallRequest] = []
        limits: list[int] = []
        key, learned, size = secrets.token_hex(8), dict(self._batching.negotiation.learned), 0
        self._waits_for_budget = False
        for request in self.session.store.pending(self.number, self.session.job.repeats):
            call = (request.number, request.repeat)
            if len(requests) >= self._max_lines:
                break
            if call in busy or call in self._ended:
                continue
            cached = self._find_cached(self._key(request, self.model.request(request.case)))
            if cached is not None:
                await self._finish(request, cached)
                continue
            limit = await self._fitting_limit(request)
            if limit is None:
                continue
            body = self._batching.batch_request(request.case, limit, learned)
            size += len(body) + 1_000
            is_first = not requests and not self._open
            if size > self._service.max_bytes or not self._reserve(key, body, is_first=is_first):
                break
            requests.append(request)
            limits.append(limit)
        if not requests:
            return None
        calls = [(request.number, request.repeat) for request in requests]
        stored = StoredBatch(key, self.number, time.time(), len(calls), calls, limits=limits, learned=learned)
        return _OpenBatch(stored, requests)

    def _reserve(self, key: str, body: bytes, *, is_first: bool = False, is_sent: bool = False) -> bool:
        """Reserve the highest cost of a request, and return whether the budget covers it.

        Args:
            key: The key of the batch that contains the request.
            body: The request.
            is_first: Whether this is the first request of the next batch and the model has no batch in progress.
            is_sent: Whether an earlier session has submitted the batch.
        """
        budget = self.session.job.budget
        if budget is None:
            return True
        cost = budget.highest_cost(self.model.name, body, batch=True)
        if not budget.reserve_now(cost, is_forced=is_sent):
            self._waits_for_budget = is_first and not budget.deny_if_idle()
            return False
        self._reserved.setdefault(key, []).append(cost)
        return True

    async def _fitting_limit(self, request: CallRequest) -> int | None:
        """Return the token limit for a call's next request; if the prompt is too long, end the call and return None."""
        call = (request.number, request.repeat)
        while True:
            limit = self._limits.get(call, self._batching.limit.highest)
            try:
                self._batching.check_length(request.case, limit)
            except Failure as failure:
                if await self._conclude(_SentCall(call, request, limit, b""), failed(failure, 0)):
                    return None
            else:
                return limit

    async def _save(self, batch: _OpenBatch, state: str) -> None:
        batch.stored = replace(batch.stored, state=state)
        await self.session.writer.put(NOTE, (f"{BATCH}{batch.stored.key}", msgspec.json.encode(batch.stored).decode()))

    async def _create(self, batch: _OpenBatch) -> None:
        """Create a batch. If it is unclear whether the request succeeded, look for the batch before trying again."""
        stored = batch.stored
        lines = [BatchLine(f"{stored.key}-{at}", sent.body) for at, sent in enumerate(self._sent(batch))]
        for attempt in range(_MAX_CREATIONS):
            try:
                remote: str | None = await self._service.create(stored.key, lines)
            except Failure as failure:
                if not failure.again:
                    await self._refuse(batch, failure)
                    return
                remote = await self._find(stored, _LISTED_AFTER_S)
                if remote is None and attempt + 1 == _MAX_CREATIONS:
                    raise
            if remote is not None:
                await self._adopt(batch, remote)
                return

    def _sent(self, batch: _OpenBatch) -> Iterator[_SentCall]:
        """Yield the calls of a batch as they were sent."""
        stored = batch.stored
        for request, limit in zip(batch.requests, stored.limits, strict=True):
            body = self._batching.batch_request(request.case, limit, stored.learned)
            yield _SentCall((request.number, request.repeat), request, limit, body)

    def _unread(self, batch: _OpenBatch) -> Iterator[tuple[int, _SentCall]]:
        """Yield the calls of a batch whose results have not been read, in this session or an earlier one."""
        for at, sent in enumerate(self._sent(batch)):
            if sent.call not in self._ended:
                yield at, sent

    async def _adopt(self, batch: _OpenBatch, remote: str) -> None:
        batch.stored = replace(batch.stored, remote=remote)
        await self._save(batch, "submitted")
        self._open.append(batch)
        self.session.job.tell(
            f"{self.model.name}: submitted {counted(len(batch.requests), 'request')} in batch {remote}."
        )

    async def _find(self, stored: StoredBatch, within_s: float) -> str | None:
        """Return the provider's ID of a batch, which may be listed late, or None if it does not exist."""
        end, known = time.monotonic() + within_s, [batch.stored.remote or "" for batch in self._open]
        while True:
            remote = await self._service.find(stored.key, stored.created, stored.count, known)
            if remote is not None or time.monotonic() >= end:
                return remote
            await asyncio.sleep(_LISTING_PAUSE_S)

    async def _refuse(self, batch: _OpenBatch, failure: Failure) -> None:
        """Record an error for every case in a rejected batch, and submit no further batches."""
        self._refused = str(failure)
        await self._fail(batch, failure)

    async def _fail(self, batch: _OpenBatch, failure: Failure) -> None:
        """Record an error for each open case in a batch, so that a rerun retries the case, and close the batch."""
        for _, sent in list(self._unread(batch)):
            await self._end(sent.request, failed(failure))
        await self._close(batch)

    async def _resume(self, stored: StoredBatch) -> None:
        """Reopen a batch from an earlier session, or create it now if it was never submitted."""
        requests, done = [], self.session.store.done(self.number)
        for number, repeat in stored.calls:
            found = next(self.session.store.cases_after(number - 1, 1, Case), None)
            if found is None or found[0] != number:
                raise self.session.store.damaged(f"batch {stored.key}")
            requests.append(CallRequest(self.number, number, repeat, found[1]))
        self._ended |= done.intersection(stored.calls)  # stored in an earlier session
        batch = _OpenBatch(stored, requests)
        for sent in self._sent(batch):
            self._reserve(stored.key, sent.body, is_sent=True)
        if stored.remote is not None:
            self._open.append(batch)
            return
        self.session.job.tell(
            f"{self.model.name}: looking for a batch of {counted(stored.count, 'request')} whose submission was not "
            "confirmed. A new batch may be listed up to two minutes late."
        )
        # The clock may have been set back since the batch was stored, so this never waits longer than for a new batch.
        remote = await self._find(stored, min(_LISTED_AFTER_S, stored.created + _LISTED_AFTER_S - time.time()))
        if remote is None:
            await self._create(batch)
        else:
            await self._adopt(batch, remote)

    # Methods that collect results.

    async def _wait_for_one(self) -> _OpenBatch:
        """Poll all batches until one of them is finished."""
        pause, shown = _FIRST_POLL_S, -1
        while True:
            for batch in self._open:
                batch.remote = await self._look(batch)
                if batch.remote.is_over:
                    return batch
            done = sum(batch.remote.done for batch in self._open if batch.remote is not None)
            if done > shown:
                total = sum(len(batch.requests) for batch in self._open)
                self.session.job.tell(f"{self.model.name}: {done:,} of {total:,} batch requests are done.")
                shown = done
            await asyncio.sleep(pause)
            pause = min(_LONGEST_POLL_S, 1.5 * pause)

    async def _look(self, batch: _OpenBatch) -> RemoteBatch:
        """Return a batch's state; a batch that the provider no longer knows counts as finished."""
        name = batch.stored.remote or ""
        try:
            return await self._service.look(name)
        except Failure as failure:
            if failure.kind != "missing":
                raise
            return RemoteBatch(name, is_over=True, is_gone=True)

    async def _collect(self, batch: _OpenBatch) -> None:
        """Store the result of every request in a finished batch; expired requests remain pending."""
        remote = batch.remote or await self._look(batch)
        self._open.remove(batch)
        if remote.is_gone:
            await self._give_up(batch, f"batch {remote.id}")
        elif remote.problem is None:
            try:
                lines = await self._service.results(remote)
            except Failure as failure:
                if failure.kind != "missing" or time.time() - batch.stored.created < _KEPT_S:
                    raise
                await self._give_up(batch, f"the results of batch {remote.id}")
                return
            results = {line.id: line for line in reversed(lines)}  # the first result of a request counts
            for at, sent in list(self._unread(batch)):
                await self._take(sent, results.get(f"{batch.stored.key}-{at}"))
            self._is_full = False
            await self._close(batch)
        elif "token_limit" in remote.problem and (self._open or len(batch.requests) > 1):
            # The batch exceeds the provider's limit on queued tokens, to which other batches contribute. If there are
            # none, submit smaller batches later.
            if not self._open:
                self._max_lines = min(self._max_lines, len(batch.requests) // 2)
            self._is_full = True
            await self._close(batch)
        else:
            await self._refuse(batch, Failure("request", f"the batch failed: {remote.problem}"))

    async def _give_up(self, batch: _OpenBatch, missing: str) -> None:
        """Record an error for each case in a batch that the provider has deleted."""
        gone = f"the provider no longer has {missing}; rerun the same command to send its cases again"
        await self._fail(batch, Failure("missing", gone))

    async def _take(self, sent: _SentCall, result: LineResult | None) -> None:
        """Store the outcome of a request; one that has expired, or was rejected but can be changed, remains pending."""
        if result is None:
            response: bytes | Failure = Failure("protocol", "the batch results contain no line for this case")
        elif result.is_expired:
            self._expired[sent.call] += 1
            if self._expired[sent.call] < _MAX_EXPIRED:
                return
            response = Failure("timeout", f"the case expired in {_MAX_EXPIRED} batches")
        else:
            response = (
                result.body or result.failure or Failure("server", "the batch contains no response for this case")
            )
        try:
            if isinstance(response, Failure):
                raise response
            done = self._batching.parse(response, sent.request.case, sent.body)
        except Failure as failure:
            if self._negotiate(sent, failure):
                return
            done = failed(failure, usage=failure.usage)
        if done.usage is not None:
            done = replace(done, usage={**done.usage, "batch": 1})
        self._call_log.add(done)
        self.progress.count_tokens(done)
        if self.session.job.budget is not None:
            self.session.job.budget.pay(self.model.name, done)
        await self._conclude(sent, done)

    async def _conclude(self, sent: _SentCall, done: Completion) -> bool:
        """Store the outcome of a call, and return True, unless it failed because of its token limit, which is lowered.

        Args:
            sent: The last request.
            done: The outcome of this request.
        """
        limit = self._batching.limit
        lower = limit.lower_for(done, sent.max_tokens)
        if lower is not None:
            self._limits[sent.call] = lower
            self._rejections[sent.call] += done.attempts
            return False
        done = limit.settle(done, sent.max_tokens)
        await self._end(sent.request, replace(done, attempts=done.attempts + self._rejections[sent.call]))
        return True

    async def _end(self, request: CallRequest, completion: Completion) -> None:
        """Store a call's outcome."""
        key = self._key(request, self.model.request(request.case))
        await self._finish(request, Called(self._keep(key, completion), key))

    async def _finish(self, request: CallRequest, called: Called) -> None:
        self._ended.add((request.number, request.repeat))
        self._breaker.count(called.completion)
        await self._settle([self._store(request, called)])

    async def _close(self, batch: _OpenBatch) -> None:
        if self.session.job.budget is not None:
            for cost in self._reserved.pop(batch.stored.key, ()):
                self.session.job.budget.release(cost)
        batch.stored = replace(batch.stored, calls=[], limits=[], learned=dict(self._batching.negotiation.learned))
        await self._save(batch, "collected")

    def _negotiate(self, sent: _SentCall, failure: Failure) -> bool:
        """Handle a rejection, and return whether to send the call again with different parameters."""
        negotiation = self._batching.negotiation
        self._rejected.add(sent.body)
        if failure.kind not in REJECTED or self._rejections[sent.call] >= _MAX_REJECTIONS:
            return False
        next_body = partial(self._batching.batch_request, sent.request.case, sent.max_tokens, negotiation.learned)
        if next_body() == sent.body:
            negotiation.learn(failure, msgspec.json.decode(sent.body, type=dict[str, Any]), may_stream=False)
        self._rejections[sent.call] += next_body() not in self._rejected
        return next_body() not in self._rejected
