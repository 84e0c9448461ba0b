"""Call a model through its provider's batch API.

A batch is stored before it is submitted, with a key that is also sent to the provider. If the process is killed, the
next session looks up the batch by its key, so no batch is created twice. Each case still has its own result, cache
entry and cost.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import cast

import msgspec

from ragbed.errors import option
from ragbed.models.base import Batching
from ragbed.models.failures import Failure, failed
from ragbed.models.providers.batches import BatchLine, LineResult, RemoteBatch
from ragbed.runs.batch_records import BATCH, FOLLOW_UP, StoredBatch, read_batches, read_follow_ups
from ragbed.runs.call_loop import CallLoop
from ragbed.runs.circuit_breaker import CircuitOpen
from ragbed.runs.follow_ups import Call, FollowUps, SentCall
from ragbed.runs.store import FORGET, NOTE, Called, CallRequest
from ragbed.schema import Completion
from ragbed.text import counted

_FIRST_POLL_S, _LONGEST_POLL_S = 0.5, 60.0
_MAX_EXPIRED = 3  # maximum number of batches in which a case may expire before it counts as an error
_MAX_CREATIONS = 3  # maximum number of attempts to create a batch if it does not appear in the provider's list
# Pauses, in seconds, between lookups of a batch that may have been created; providers may list new batches late.
_FIND_PAUSES_S = (0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
# Maximum time for which a new batch may be missing from the provider's list, and time between lookups, in seconds.
_LISTED_AFTER_S, _LISTING_PAUSE_S = 120.0, 5.0
# Initial and maximum pause, in seconds, before the next batch if the provider's queue is full and no batch is open.
_FIRST_FULL_PAUSE_S, _LONGEST_FULL_PAUSE_S = 30.0, 600.0
_KEPT_S = 20 * 86_400.0  # minimum time in seconds for which providers keep the results of a batch
_DOWNLOADS = 3  # maximum number of attempts to download results if lines are missing
_FIRST_MONITORED = 64  # maximum number of requests in the first batch of a run with a stopping rule


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
        self._follow_ups = FollowUps(self._batching, {})
        self._open: list[_OpenBatch] = []
        self._expired: Counter[tuple[int, int]] = Counter()
        self._ended: set[tuple[int, int]] = set()
        self._refused: str | None = None
        self._is_full, self._full_pause_s = False, _FIRST_FULL_PAUSE_S
        self._reserved: dict[str, list[Decimal]] = {}  # the highest cost of each request, by batch
        self._waits_for_budget = False  # whether other models' batches have to release their reservations first

    async def run(self) -> None:
        """Collect batches from earlier sessions, then submit all pending cases and collect their results.

        Raises:
            CircuitOpen: The provider rejected a batch or cannot be reached. A later session collects open batches.
        """
        if self.session.rule is not None:
            self._read_pending()  # creates the case order that the stopping rule needs
            self.session.rule.begin(self.session.store, self.number)
        self._restore_follow_ups()
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
            if self.session.budget is not None:
                for _ in (cost for costs in self._reserved.values() for cost in costs):
                    self.session.budget.abandon()
        if self._refused is not None:
            raise CircuitOpen(
                f"{self.model.name}: the provider rejected a batch: {self._refused}. {self.model.advice} If the "
                f"provider has no batch API that is compatible with OpenAI's or Anthropic's, omit {option('batch')}."
            )
        self._tell_fix()

    def _restore_follow_ups(self) -> None:
        """Load the server properties detected in earlier sessions, and the calls that still have to be resent."""
        store, model = self.session.store, self._batching
        for batch in read_batches(store, self.number, collected=True):
            model.negotiation.add(batch.learned)
            model.limit.thinks |= batch.thinks
        waiting = {
            call: again
            for call, again in read_follow_ups(store, self.number).items()
            if not store.has_response(self.number, *call)
        }
        self._follow_ups = FollowUps(model, waiting)
        if self.session.budget is not None:
            for again in waiting.values():
                if again.first is not None:
                    self.session.budget.pay(self.model.name, again.first)

    # Methods that submit batches.

    def _read_pending(self) -> Iterator[CallRequest]:
        rule = self.session.rule
        return self.session.store.pending(self.number, self.session.repeats, by_question=rule is not None)

    async def _submit_all(self) -> None:
        if self._is_full:
            if self._open:
                return  # submit no batches until one of the open batches has ended
            await asyncio.sleep(self._full_pause_s)
            self._is_full, self._full_pause_s = False, min(_LONGEST_FULL_PAUSE_S, 2 * self._full_pause_s)
        while self._refused is None and not (self.session.rule is not None and self._open):
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
        for request in self._read_wanted():
            call = (request.number, request.repeat)
            if len(requests) >= self._most_lines():
                break
            if call in busy or call in self._ended or await self._use_cache(request):
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
        budget = self.session.budget
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
            limit = self._follow_ups.limit_of(call)
            try:
                await self._batching.window.check(request.case, limit)
            except Failure as failure:
                last = failed(failure, 0)
                completion = self._follow_ups.conclude(SentCall("", call, request.case, limit, b""), last)
                if completion is not None:
                    await self._end(request, completion)
                    return None
            else:
                return limit

    def _read_wanted(self) -> Iterator[CallRequest]:
        """Yield the pending calls or, once the stopping rule is met, only those that have to be resent."""
        rule = self.session.rule
        for request in self._read_pending():
            if rule is not None and rule.is_over(self.model.name):
                if not self._follow_ups.waiting:
                    return
                if (request.number, request.repeat) not in self._follow_ups.waiting:
                    continue
            yield request

    def _most_lines(self) -> int:
        if self.session.rule is None:
            return self._max_lines
        return min(self._max_lines, max(_FIRST_MONITORED, self.progress.done // 2))

    async def _use_cache(self, request: CallRequest) -> bool:
        cached = self._find_cached(self._key(request, self.model.request(request.case)))
        if cached is None:
            return False
        await self._finish(request, cached)
        await self._forget((request.number, request.repeat))
        return True

    async def _save(self, batch: _OpenBatch, state: str) -> None:
        batch.stored = msgspec.structs.replace(batch.stored, state=state)
        row = (f"{BATCH}{batch.stored.key}", msgspec.json.encode(batch.stored).decode())
        await self.session.writer.put(NOTE, row)

    async def _create(self, batch: _OpenBatch) -> None:
        """Create a batch. If it is unclear whether the request succeeded, look for the batch before trying again."""
        stored = batch.stored
        lines = [
            BatchLine(f"{stored.key}-{place}", self._sent(batch, place).body) for place in range(len(batch.requests))
        ]
        for attempt in range(_MAX_CREATIONS):
            try:
                remote: str | None = await self._service.create(stored.key, lines)
            except Failure as failure:
                if not failure.again:
                    await self._refuse(batch, failure)
                    return
                remote = await self._find_late(stored)
                if remote is None and attempt + 1 == _MAX_CREATIONS:
                    raise
            if remote is not None:
                await self._adopt(batch, remote)
                return

    def _sent(self, batch: _OpenBatch, place: int) -> SentCall:
        """Return a call as it was sent."""
        request, stored = batch.requests[place], batch.stored
        limit = stored.limits[place]
        body = self._batching.batch_request(request.case, limit, stored.learned)
        return SentCall(stored.key, (request.number, request.repeat), request.case, limit, body)

    async def _adopt(self, batch: _OpenBatch, remote: str) -> None:
        batch.stored = msgspec.structs.replace(batch.stored, remote=remote)
        await self._save(batch, "submitted")
        self._open.append(batch)
        self.session.tell(f"{self.model.name}: submitted {counted(len(batch.requests), 'request')} in batch {remote}.")

    async def _find(self, stored: StoredBatch) -> str | None:
        known = [batch.stored.remote for batch in self._open if batch.stored.remote is not None]
        return await self._service.find(stored.key, stored.created, stored.count, known)

    async def _find_late(self, stored: StoredBatch) -> str | None:
        for pause in _FIND_PAUSES_S:
            await asyncio.sleep(pause)
            remote = await self._find(stored)
            if remote is not None:
                return remote
        return None

    async def _refuse(self, batch: _OpenBatch, failure: Failure) -> None:
        """Record an error for every case in a rejected batch, and submit no further batches."""
        self._refused = str(failure)
        await self._fail(batch, failure)

    async def _fail(self, batch: _OpenBatch, failure: Failure) -> None:
        """Record an error for each open case in a batch, so that a rerun retries the case, and close the batch."""
        done = failed(failure)
        for place, request in enumerate(batch.requests):
            sent = self._sent(batch, place)
            if sent.call not in self._ended and not self._follow_ups.is_read(sent):
                await self._end(request, self._follow_ups.finish(sent.call, done))
        await self._close(batch)

    async def _resume(self, stored: StoredBatch) -> None:
        """Reopen a batch from an earlier session, or create it now if it was never submitted."""
        requests = []
        for number, repeat in stored.calls:
            found = next(self.session.store.cases_after(number - 1, 1), None)
            if found is None or found[0] != number:
                raise self.session.store.damaged(f"batch {stored.key}")
            requests.append(CallRequest(self.number, number, repeat, found[1]))
            if self.session.store.has_response(self.number, number, repeat):  # stored in an earlier session
                self._ended.add((number, repeat))
        batch = _OpenBatch(stored, requests)
        for place in range(len(requests)):
            self._reserve(stored.key, self._sent(batch, place).body, is_sent=True)
        if stored.remote is not None:
            self._open.append(batch)
            return
        self.session.tell(
            f"{self.model.name}: looking for a batch of {counted(stored.count, 'request')} whose submission was not "
            "confirmed. A new batch may be listed up to two minutes late."
        )
        # The clock may have been set back since the batch was stored, so this never waits longer than for a new batch.
        left = min(_LISTED_AFTER_S, stored.created + _LISTED_AFTER_S - time.time())
        end = time.monotonic() + left
        remote = await self._find(stored)
        while remote is None and time.monotonic() < end:
            await asyncio.sleep(_LISTING_PAUSE_S)
            remote = await self._find(stored)
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
                self.session.tell(f"{self.model.name}: {done:,} of {total:,} batch requests are done.")
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
        """Store the result of every request in a batch; expired requests remain pending."""
        remote = await self._look(batch)
        if remote.is_gone:
            await self._give_up(batch, f"batch {remote.id}")
            return
        if remote.problem is not None:
            self._open.remove(batch)
            # The batch exceeds the provider's limit on queued tokens, to which other batches contribute. If there are
            # none, submit smaller batches later.
            if "token_limit" in remote.problem and (self._open or len(batch.requests) > 1):
                if not self._open:
                    self._max_lines = min(self._max_lines, len(batch.requests) // 2)
                self._is_full = True
                await self._close(batch)
            else:
                await self._refuse(batch, Failure("request", f"the batch failed: {remote.problem}"))
            return
        try:
            results = await self._download(batch, remote)
        except Failure as failure:
            if failure.kind != "missing" or time.time() - batch.stored.created < _KEPT_S:
                raise
            await self._give_up(batch, f"the results of batch {remote.id}")
            return
        for place, request in enumerate(batch.requests):
            sent = self._sent(batch, place)
            if sent.call not in self._ended and not self._follow_ups.is_read(sent):
                await self._take(request, sent, results.get(f"{batch.stored.key}-{place}"))
        self._open.remove(batch)
        self._is_full, self._full_pause_s = False, _FIRST_FULL_PAUSE_S
        await self._close(batch)

    async def _give_up(self, batch: _OpenBatch, missing: str) -> None:
        """Record an error for each case in a batch that the provider has deleted."""
        self._open.remove(batch)
        gone = f"the provider no longer has {missing}; rerun the same command to send its cases again"
        await self._fail(batch, Failure("missing", gone))

    async def _download(self, batch: _OpenBatch, remote: RemoteBatch) -> dict[str, LineResult]:
        """Return the results by ID; download them again if lines are missing, as files may be incomplete at first."""
        expected = {f"{batch.stored.key}-{place}" for place in range(len(batch.requests))}
        for attempt in range(_DOWNLOADS):
            lines = await self._service.results(remote)
            found: dict[str, LineResult] = {}
            for line in lines:
                found.setdefault(line.id, line)
            if expected <= found.keys() or attempt + 1 == _DOWNLOADS:
                break
            await asyncio.sleep(_FIRST_POLL_S)
            remote = await self._service.look(remote.id)
        foreign, double = len(found.keys() - expected), len(lines) - len(found)
        if foreign or double:
            self.session.tell(
                f"{self.model.name}: batch {remote.id} contains {foreign:,} results for unknown requests and "
                f"{double:,} duplicate results, which are ignored."
            )
        return found

    async def _take(self, request: CallRequest, sent: SentCall, result: LineResult | None) -> None:
        """Store the outcome of a request, or record that its call has to be resent."""
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
        last = self._follow_ups.read(sent, response)
        if last is None:
            await self._note_follow_up(sent)
            return
        self._call_log.add(last)
        self.progress.count_tokens(last)
        if self.session.budget is not None:
            self.session.budget.pay(self.model.name, last)
        completion = self._follow_ups.conclude(sent, last)
        if completion is not None:
            await self._end(request, completion)
        else:
            await self._note_follow_up(sent)

    async def _note_follow_up(self, sent: SentCall) -> None:
        again = msgspec.json.encode(self._follow_ups.waiting[sent.call]).decode()
        await self.session.writer.put(NOTE, (self._key_of(sent.call), again))

    def _key_of(self, call: Call) -> str:
        return f"{FOLLOW_UP}{self.number}.{call[0]}.{call[1]}"

    async def _end(self, request: CallRequest, completion: Completion) -> None:
        """Store a call's outcome."""
        key = self._key(request, self.model.request(request.case))
        await self._finish(request, Called(self._keep(key, completion), key))
        await self._forget((request.number, request.repeat))

    async def _forget(self, call: Call) -> None:
        if self._follow_ups.waiting.pop(call, None) is not None:
            await self.session.writer.put(FORGET, (self._key_of(call),))

    async def _finish(self, request: CallRequest, called: Called) -> None:
        self._ended.add((request.number, request.repeat))
        self._breaker.count(called.completion)
        await self._settle([self._store(request, called)])

    async def _close(self, batch: _OpenBatch) -> None:
        if self.session.budget is not None:
            for cost in self._reserved.pop(batch.stored.key, ()):
                self.session.budget.release(cost)
        learned, thinks = dict(self._batching.negotiation.learned), self._batching.limit.thinks
        batch.stored = msgspec.structs.replace(batch.stored, calls=[], limits=[], learned=learned, thinks=thinks)
        await self._save(batch, "collected")
