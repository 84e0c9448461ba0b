"""Post JSON requests to a model's servers, with adaptive limits, time limits and retries.

Each server has a lane with two limits, because servers may differ. A call goes to the lane with the most free capacity.

    window   concurrent calls. It starts at half of the maximum. Every round of responses, another window is tried
             (twice as large, or 0.7 times), and it is kept if more responses arrive per second, or with a smaller
             window hardly fewer. Timeouts reduce it, too.

    rate     calls per second; there is no limit until the server refuses calls:

             unlimited ──── a fifth of the recent calls get status 429 ────► limited: 0.85 × the accepted rate
                 ▲                                                              │    ▲
                 │                                                              ▼    │ again 429
                 └─── no refusals for a long time ◄─── grows slowly near the accepted rate, then ever faster

    pause    after an error of the server, 1 s and twice as long after each further one, if there are other servers.

All lanes share the user's limits on connections, calls and tokens per minute.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import astuple, replace
from yarl import URL

from ragbed.errors import MALFORMED_JSON
from ragbed.io.retry import HttpFailure, RetryPolicy, retry_after_s
from ragbed.models.base import METER
from ragbed.models.failures import FATAL, PAID, REJECTED, Failure, Kind, failed, from_status
from ragbed.models.providers.urls import merge_headers
from ragbed.models.secrets import ApiKey, Scrubber, encode_user_info, secrets_in
from ragbed.schema import Completion

if TYPE_CHECKING:
    from ragbed.io.http import HttpClient, HttpResponse

# The initial window: half of the default maximum, so that a single trial shows whether the maximum is better.
_START = 32
_UP, _DOWN = 2.0, 0.7
# A larger window is kept if throughput grows by this factor, and a smaller one if at least this share remains.
_MIN_GAIN, _MIN_REST = 1.1, 0.95
_ROUND_S = 1.0  # minimum duration of a round, because responses arrive in bursts
# Initial and maximum number of rounds between a failed trial and the next one; it doubles after each failed trial.
_HOLD, _MAX_HOLD = 4, 64
_MAX_LATE = 0.1  # if at least this share of the calls time out, the server is overloaded
# The rate is reduced if more than this share of the recent calls are refused. Fewer refusals may be independent of the
# rate, because other clients share the server.
_MAX_REFUSED = 0.2
_MAX_REFUSED_AGAIN = 0.12  # the same after a first reduction, so that the rate stays close to what is accepted
# If reductions leave at least this share of the refusals, these do not depend on the rate, e.g. because the server is
# faulty. They are then ignored for a while, unless they are more than the second share of the calls or their share
# doubles.
_MIN_REMAINING, _MAX_FAULTY, _IGNORE_S = 0.5, 0.25, 30.0
_JUDGED_CALLS = 20  # number of calls after a reduction that show its effect
_MAX_USELESS = 2  # the first reductions may be too small to have an effect
_CUT = 0.85
_MAX_GROWTH = 1.3  # the number of periods after which the limit has no effect any more
# Refusals within this many seconds count as one, because the refused calls were sent before the rate was reduced.
_SAME_REFUSAL_S = 0.5
# The rate returns to the accepted rate after about half a period and reaches twice that after one and a half. A period
# has this many seconds and at least this many calls, so that refusals are rare at low rates, too.
_PERIOD_S, _PERIOD_CALLS = 10.0, 75.0
_MIN_RATE = 0.2  # calls per second, even if all calls are refused; close to the lowest limits of providers
_SLACK_S = 0.05  # a call may be sent this many seconds early, to compensate for timers that fire late
# Initial and maximum length of a pause, in seconds, after a server fails.
_PAUSE_S, _MAX_PAUSE_S = 1.0, 30.0
# Initial estimate of the number of tokens per byte of a request: English has about four bytes per token, and Chinese
# has three bytes per character.
_TOKENS_PER_BYTE = 0.3
_LEARNING_RATE = 0.1
# A server that does not respond within this many seconds is assumed to be generating a response, because rejections
# arrive sooner.
_SLOW_S = 2.0
_LOOK_UP_S = 5.0
# Maximum number of attempts if no connection has ever succeeded; in that case, the URL is probably wrong.
_FIRST_CONNECT_ATTEMPTS = 3
# A case that has to wait for at least this many seconds is parked, and another case is sent in the meantime.
_PARK_S = 2.0
# Maximum number of parked cases, as a multiple of the concurrency. The number is limited, because after a crash,
# parked cases count as sent.
_MAX_PARKED = 8
# Time limit in seconds and maximum size of requests for batches, whose files are large.
_LONG_S, _MAX_BATCH_BYTES = 600.0, 1 << 30


class _Window:
    """The number of concurrent calls to a server.

    Args:
        most: Its maximum.
        adaptive: Whether to search for the best number; otherwise, the maximum is used.
    """

    def __init__(self, most: int, *, adaptive: bool) -> None:
        self.size, self._most = (min(_START, most) if adaptive else most), most
        self._adaptive = adaptive and most > 1
        self._kept, self._kept_rate = self.size, 0.0
        self._trial, self._next_trial = 1.0, _UP
        self._hold, self._hold_for = 0, _HOLD
        self._late = self._in_time = 0
        self._start_round(0.0, skips=1)

    def responded(self, now: float, *, is_limited: bool) -> None:
        """Count a response."""
        self._in_time += 1
        if not self._adaptive or is_limited:  # if the rate is limited, throughput does not depend on the window
            return
        self._count += 1
        if self._count == self._skips:
            self._started = now
        elif self._count - self._skips >= self.size and now - self._started >= _ROUND_S:
            before = self.size
            self._judge((self._count - self._skips) / (now - self._started))
            # Responses to calls that were sent before a change of the window are not counted.
            self._start_round(now, skips=1 if self.size == before else self.size)

    def timed_out(self) -> None:
        """Count a timeout, which may mean that the server is overloaded."""
        self._late += 1
        if self._adaptive and self._late >= _MAX_LATE * (self._late + self._in_time):
            self._late = self._in_time = self._count = 0
            self.size = self._kept = max(1, int(self.size * _DOWN))
            self._kept_rate, self._trial, self._hold = 0.0, 1.0, self._hold_for

    def _start_round(self, now: float, skips: int) -> None:
        self._count, self._skips, self._started = 0, skips, now

    def _judge(self, rate: float) -> None:
        """Keep or revert the window that was tried, and try another one if it is time."""
        if self._trial == 1:
            self._kept_rate, self._hold = rate, self._hold - 1
            if self._hold <= 0:
                self._try(self._next_trial)
        elif rate >= self._kept_rate * (_MIN_GAIN if self._trial > 1 else _MIN_REST):
            self._kept, self._kept_rate, self._hold_for = (
                self.size,
                max(rate, self._kept_rate * (self._trial < 1)),
                _HOLD,
            )
            self._try(self._trial)
        else:
            self._revert()

    def _try(self, factor: float) -> None:
        self.size, self._trial = min(self._most, max(1, int(self.size * factor))), factor
        if self.size == self._kept:
            self._revert()

    def _revert(self) -> None:
        """Return to the previous window; the next trial has the opposite direction."""
        self.size, self._next_trial = self._kept, _DOWN if self._trial > 1 else _UP
        self._hold, self._hold_for, self._trial = self._hold_for, min(_MAX_HOLD, 2 * self._hold_for), 1.0


class ServerLane:
    """The limits and the state of one server; `heard` is true once the server has sent any data."""

    def __init__(self, most: int, *, adaptive: bool) -> None:
        self.window = _Window(most, adaptive=adaptive)
        self.running, self.heard, self.paused_until = 0, False, 0.0
        self._failures = 0
        # The accepted rate, or None if no limit is known, and the time at which the next call may be sent.
        self._accepted: float | None = None
        self.ready_at = self._cut_at = 0.0
        self._refused = 0.0  # the share of refused calls among the recent ones
        self._cut_share = 0.0  # the share at the last reduction, and the calls since then
        self._calls_since_cut = self._refusals_since_cut = self._useless = 0
        self._faulty, self._ignored_until = 0.0, 0.0  # share of refusals that do not depend on the rate
        self._sent, self._since = 0, 0.0  # calls sent since a time, while no limit is known

    def take(self, now: float) -> None:
        """Count a call that is being sent."""
        self.running += 1
        rate = self.rate(now)
        if rate is not None:
            self.ready_at = max(self.ready_at, now - _SLACK_S) + 1 / rate
            return
        if now - self._since > 2 * _ROUND_S:
            self._sent, self._since = 0, now
        self._sent += 1

    def rate(self, now: float) -> float | None:
        """Return the current limit in calls per second, or None if there is none."""
        if self._accepted is None:
            return None
        period_s = max(_PERIOD_S, _PERIOD_CALLS / self._accepted)
        growth = (now - self._cut_at) / period_s - (1 - _CUT) ** (1 / 3)
        if growth > _MAX_GROWTH:
            self._accepted, self.ready_at = None, 0.0
            return None
        return float(max(_MIN_RATE, self._accepted * (1 + growth**3)))

    def responded(self, now: float) -> None:
        """Count a response."""
        self.heard, self._failures, self.paused_until = True, 0, 0.0
        self._count_refusal(now, 0.0)
        self.window.responded(now, is_limited=self._accepted is not None)

    def refused(self, now: float) -> None:
        """Count a call that was refused because of a rate limit."""
        self.heard = True
        self._count_refusal(now, 1.0)
        most = _MAX_REFUSED if self._accepted is None else _MAX_REFUSED_AGAIN
        if now < self._ignored_until:
            most = max(most, 2 * self._faulty)
        if self._refused <= most or now - self._cut_at < _SAME_REFUSAL_S:
            return
        since_cut = self._refusals_since_cut / max(1, self._calls_since_cut)
        is_useless = _MIN_REMAINING * self._cut_share <= since_cut <= _MAX_FAULTY
        if self._accepted is not None and self._calls_since_cut >= _JUDGED_CALLS:
            self._useless = self._useless + 1 if is_useless else 0
        if self._useless > _MAX_USELESS:
            self._accepted, self.ready_at, self._useless = None, 0.0, 0
            self._faulty, self._ignored_until = since_cut, now + _IGNORE_S
            return
        rate = self.rate(now) or self._sent / max(_SAME_REFUSAL_S, now - self._since)
        self._accepted = max(_MIN_RATE, rate * (1 - self._refused))
        self.ready_at, self._cut_at = max(self.ready_at, now), now
        self._cut_share, self._refused = self._refused, 0.0
        self._calls_since_cut = self._refusals_since_cut = 0

    def failed(self, now: float, *, late: bool) -> None:
        """Count a server failure: no connection, no response, or a server error."""
        if late:
            self.window.timed_out()
        self._failures += 1
        self.paused_until = now + min(_MAX_PAUSE_S, _PAUSE_S * 2 ** (self._failures - 1))

    def _count_refusal(self, now: float, refused: float) -> None:
        recent = min(50.0, max(8.0, self.rate(now) or 50.0))  # the calls of about a second
        self._refused += (refused - self._refused) / recent
        self._calls_since_cut += 1
        self._refusals_since_cut += refused > 0


class _Meter:
    """A rate limit set by the user, in calls or tokens per second."""

    def __init__(self, per_s: float | None) -> None:
        self._per_s, self.ready_at = per_s, 0.0

    def take(self, now: float, units: float) -> None:
        if self._per_s is not None:
            self.ready_at = max(self.ready_at, now) + units / self._per_s

    def least_s(self, units: float) -> float:
        return 0.0 if self._per_s is None else units / self._per_s

    def correct(self, units: float) -> None:
        if self._per_s is not None:
            self.ready_at += units / self._per_s


class _Waiter(msgspec.Struct, eq=False):
    lane: asyncio.Future[ServerLane]
    size: int
    avoid: ServerLane | None


class Pacer:
    """Enforces the limits for calls to one model.

    Args:
        most: Maximum number of concurrent calls to all servers together.
        adaptive: Whether to search for the best concurrency; otherwise, the maximum is used.
        per_s: The user's limit on requests per second.
        tokens_per_s: The user's limit on tokens per second.
        servers: The number of servers.
        clock: A monotonic clock in seconds.
    """

    def __init__(
        self, most: int, *, adaptive: bool = False, per_s: float | None = None, tokens_per_s: float | None = None,
        servers: int = 1, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.most, self.clock = most, clock
        each = -(-most // servers) if adaptive else most
        self.lanes = [ServerLane(each, adaptive=adaptive) for _ in range(servers)]
        self._calls, self._tokens = _Meter(per_s), _Meter(tokens_per_s)
        self._tokens_per_byte = _TOKENS_PER_BYTE
        self._running = 0
        self._waiting: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def enter(self, size: int = 0, avoid: ServerLane | None = None) -> ServerLane:
        """Wait until a call may start, and return the `ServerLane` of the server to call.

        Args:
            size: Size of the request in bytes.
            avoid: A lane that has just failed; it is used only if no other lane has free capacity.
        """
        if not self._waiting:
            lane = self._take(self.clock(), size, avoid)
            if lane is not None:
                return lane
        waiter = _Waiter(asyncio.get_running_loop().create_future(), size, avoid)
        self._waiting.append(waiter)
        self._serve()
        try:
            return await waiter.lane
        except asyncio.CancelledError:
            if not waiter.lane.cancelled():
                self.leave(waiter.lane.result())
            elif waiter in self._waiting:
                self._waiting.remove(waiter)
            raise

    def leave(self, lane: ServerLane) -> None:
        """Mark a call as finished."""
        lane.running -= 1
        self._running -= 1
        if self._waiting:
            self._serve()

    def least_s(self, calls: int, tokens: int) -> float:
        """Return the minimum number of seconds that calls take because of the user's rate limits."""
        return max(self._calls.least_s(calls), self._tokens.least_s(tokens))

    def estimate_tokens(self, size: int) -> float:
        """Return the estimated number of tokens of a request and its response; the estimate changes with responses."""
        return size * self._tokens_per_byte

    def correct_tokens(self, size: int, estimate: float, tokens: int) -> None:
        """Replace the number of tokens that was estimated when a request was sent with the number reported for it."""
        if tokens > 0 and size > 0:
            self._tokens.correct(tokens - estimate)
            self._tokens_per_byte += _LEARNING_RATE * (tokens / size - self._tokens_per_byte)

    def _take(self, now: float, size: int, avoid: ServerLane | None) -> ServerLane | None:
        if self._running >= self.most or self._calls.ready_at > now or self._tokens.ready_at > now:
            return None
        lanes = self.lanes
        if len(lanes) > 1:
            # If all lanes are paused, choose among all of them.
            lanes = [lane for lane in lanes if lane.paused_until <= now] or lanes
        free = [lane for lane in lanes if lane.running < lane.window.size and lane.ready_at <= now]
        if not free:
            return None
        lane = min(free, key=lambda lane: (lane is avoid, lane.running / lane.window.size))
        lane.take(now)
        self._calls.take(now, 1)
        self._tokens.take(now, self.estimate_tokens(size))
        self._running += 1
        return lane

    def _serve(self) -> None:
        now = self.clock()
        while self._waiting:
            waiter = self._waiting[0]
            if not waiter.lane.done():
                lane = self._take(now, waiter.size, waiter.avoid)
                if lane is None:
                    self._set_timer(now)
                    return
                waiter.lane.set_result(lane)
            self._waiting.popleft()

    def _set_timer(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        ready = [max(lane.ready_at, lane.paused_until if len(self.lanes) > 1 else 0.0)
                 for lane in self.lanes if lane.running < lane.window.size]  # fmt: skip
        if ready and self._running < self.most:
            next_call = max(self._calls.ready_at, self._tokens.ready_at, min(ready))
            if next_call > now:
                self._timer = asyncio.get_running_loop().call_later(next_call - now, self._serve)


class _ServerProbe:
    """Holds back concurrent calls until the first response, so that an invalid key costs only a few calls.

    `when_open` is called once, either after the first successful response or if that response takes too long.
    """

    def __init__(self) -> None:
        self.is_open = False
        self.when_open: Callable[[], object] = lambda: None
        self._timer: asyncio.TimerHandle | None = None

    def sending(self) -> None:
        if not self.is_open and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SLOW_S, self.open)

    def answered(self, failure: Kind | None) -> None:
        if failure in FATAL or failure == "request":
            self.close()
        else:
            self.open()

    def open(self) -> None:
        self.close()
        if not self.is_open:
            self.is_open = True
            self.when_open()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


async def _keep_body(_failure: Failure) -> None:
    return None


class Transport:
    """The connection to one model's servers.

    Args:
        proxies: The URLs to post to, one for each lane of the pacer, with their proxies.
        headers: A function that returns the headers of a request, which may contain the key.
        keys: Secrets that must not appear in messages or responses.
        pacer: The pacer for all calls.
        policy: Time limits and maximum numbers of attempts.
    """

    def __init__(
        self, proxies: Mapping[URL, URL | None], headers: Callable[[], Mapping[str, str]], keys: Sequence[ApiKey],
        pacer: Pacer, policy: RetryPolicy,
    ) -> None:  # fmt: skip
        self._urls = dict(zip(pacer.lanes, proxies, strict=True))
        self._proxies = {url.origin(): proxy for url, proxy in proxies.items()}
        self._headers, self._pacer, self._policy = headers, pacer, policy
        self._client: HttpClient | None = None
        urls = (*proxies, *(proxy for proxy in proxies.values() if proxy is not None))
        hidden = [*keys, *(key for url in urls for key in secrets_in(url))]
        self.scrubber = Scrubber(hidden)
        self._response_scrubber = Scrubber([key for key in hidden if not key.in_messages_only])
        self._parked = 0
        self.when_parked: Callable[[], object] = lambda: None
        self.probe = _ServerProbe()

    @property
    def parked(self) -> int:
        """The number of parked cases, up to a maximum; further cases count as running, so that no new cases start."""
        return min(self._parked, _MAX_PARKED * self._pacer.most)

    async def post(
        self,
        body: bytes,
        parse: Callable[[bytes], Completion],
        renew: Callable[[Failure], Awaitable[bytes | None]] = _keep_body,
    ) -> Completion:
        """Post a body until a response can be parsed or no retries are left; every call returns an outcome.

        Args:
            body: The body of the request.
            parse: A function that parses the body of a response.
            renew: A function that returns the body for the next attempt, or None if it is unchanged; a rejected body is
                not sent again.
        """
        begin: float | None = None
        lane: ServerLane | None = None
        attempt, meter = 0, METER.get()
        usage: Counter[str] = Counter()
        while True:
            attempt += 1
            queued = self._pacer.clock()
            await meter.reserve(body)
            lane = await self._pacer.enter(len(body), lane)
            started = self._pacer.clock()
            # Time spent in the queue does not count towards the time limit.
            begin = started if begin is None else begin + started - queued
            self.probe.sending()
            try:
                completion = await self._attempt(lane, body, parse, begin + self._policy.item_s - started)
            except Failure as failure:
                meter.settle(Completion(outcome="error", usage=failure.usage))
                renewed = await renew(failure)
                body = body if renewed is None else renewed
                if renewed is not None and failure.kind in REJECTED:
                    continue
                self.probe.answered(failure.kind)
                usage.update(failure.usage or {})
                self.clean(failure)
                pause = self._pause_before_retry(attempt, failure, self._pacer.clock() - begin)
                if pause is None:
                    return failed(failure, attempt, usage)
                await self._wait(pause)
            else:
                self.probe.answered(None)
                meter.settle(completion)
                latency_s = round(self._pacer.clock() - started, 4)
                return replace(completion, latency_s=latency_s, attempts=attempt, usage=_total(completion, usage))

    async def look_up(self, url: URL, body: bytes | None = None) -> dict[str, Any]:
        """Request metadata (with POST if a body is given), and return the JSON object, which is empty if this fails."""
        try:
            response = await self._send("GET" if body is None else "POST", url, body, _LOOK_UP_S)
            return msgspec.json.decode(response.body, type=dict[str, Any]) if response.status == 200 else {}
        except (Failure, *MALFORMED_JSON):
            return {}

    async def request(
        self, method: str, url: URL, body: bytes | None = None, *, kind: str = "", repeats: bool = True
    ) -> bytes:
        """Send a request that does not count as a call, and return the response body.

        Args:
            method: The HTTP method.
            url: The URL.
            body: The body, or None for a request without one.
            kind: The content type of the body.
            repeats: Whether to repeat the request after any temporary failure; otherwise, it is repeated only after
                a rate limit error, when it certainly had no effect.

        Raises:
            Failure: There was no response with status 200 or 201; the kind is `network` if it is unknown whether the
                server received the request.
        """
        attempt, policy = 0, self._policy
        while True:
            attempt += 1
            try:
                try:
                    response = await self._send(
                        method, url, body, max(_LONG_S, policy.attempt_s), kind, max_bytes=_MAX_BATCH_BYTES
                    )
                except Failure as failure:
                    raise Failure("network", f"{method} {url.path}: {failure.detail}", again=True) from None
                return _checked(response, (200, 201))
            except Failure as failure:
                self.clean(failure)
                may_repeat = failure.again and (repeats or failure.kind == "rate")
                if not may_repeat or attempt >= policy.attempts:
                    raise
                await asyncio.sleep(policy.pause_s(attempt, min(policy.longest_pause_s, failure.wait_s or 0.0)))

    async def close(self) -> None:
        """Close all connections."""
        self.probe.close()
        if self._client is not None:
            await self._client.close()
            self._client = None

    async def _send(
        self, method: str, url: URL, body: bytes | None, within_s: float, kind: str = "application/json",
        max_bytes: int | None = None,
    ) -> HttpResponse:  # fmt: skip
        from ragbed.io.http import HttpClient, HttpRequest  # noqa: PLC0415 - aiohttp takes a tenth of a second to load

        if self._client is None:
            self._client = HttpClient(self._policy)
        defaults = {"Accept": "*/*" if max_bytes else "application/json"} | (
            {} if body is None else {"Content-Type": kind}
        )
        proxy = self._proxies[url.origin()]
        if url.user is not None:
            defaults["Authorization"], url = f"Basic {encode_user_info(url)}", url.with_user(None)
        headers = merge_headers(defaults, self._headers())
        try:
            return await self._client.send(HttpRequest(method, url, headers, body, proxy), within_s, max_bytes)
        except HttpFailure as failure:
            raise Failure(failure.kind, str(failure), again=failure.again) from None

    def _pause_before_retry(self, attempt: int, failure: Failure, spent_s: float) -> float | None:
        """Return the delay before the next attempt, or None if the request should not be retried.

        If there is no time left for another attempt, that is added to the failure's message.
        """
        policy = self._policy
        limit = min(policy.attempts, policy.paid_attempts) if failure.kind in PAID else policy.attempts
        if failure.kind == "connect" and not any(lane.heard for lane in self._pacer.lanes):
            limit = min(limit, _FIRST_CONNECT_ATTEMPTS)
        if not failure.again or attempt >= limit:
            return None
        pause = policy.pause_s(attempt, failure.wait_s)
        if spent_s + pause <= policy.item_s:
            return pause
        end = f"the case timed out after {policy.item_s:,.6g} s"
        if failure.wait_s:
            asked = f"the server asks for a delay of {failure.wait_s:,.6g} s"
            end = f"{asked}, but a case times out after {policy.item_s:,.6g} s"
        failure.detail += f"; {end}"
        return None

    async def _wait(self, pause: float) -> None:
        if pause < _PARK_S:
            await asyncio.sleep(pause)
            return
        self._parked += 1
        try:
            if self._parked <= _MAX_PARKED * self._pacer.most:
                self.when_parked()
            await asyncio.sleep(pause)
        finally:
            self._parked -= 1

    async def _attempt(
        self, lane: ServerLane, body: bytes, parse: Callable[[bytes], Completion], left_s: float
    ) -> Completion:  # fmt: skip
        size, estimate = len(body), self._pacer.estimate_tokens(len(body))
        try:
            if left_s <= 0:
                raise Failure("timeout", f"the case timed out after {self._policy.item_s:,.6g} s")
            within_s = min(self._policy.attempt_s, left_s)
            response = await self._send("POST", self._urls[lane], body, within_s)
            completion = self.without_keys(parse(_checked(response)))
            lane.responded(self._pacer.clock())
            self._pacer.correct_tokens(size, estimate, _count_tokens(completion.usage))
            return completion
        except Failure as failure:
            self._pacer.correct_tokens(size, estimate, _count_tokens(failure.usage))
            self._report(lane, failure)
            raise
        finally:
            self._pacer.leave(lane)

    def _report(self, lane: ServerLane, failure: Failure) -> None:
        now = self._pacer.clock()
        if failure.kind == "rate" or (failure.kind == "server" and failure.wait_s):
            lane.refused(now)
        elif failure.kind in ("timeout", "connect", "network", "server", "tls", "protocol"):
            lane.failed(now, late=failure.kind == "timeout")
        else:
            lane.heard = True

    def clean(self, failure: Failure) -> None:
        """Remove API keys from a failure."""
        failure.detail = self.scrubber.clean(failure.detail)
        if failure.response is not None:
            failure.response = self.without_keys(failure.response)

    def without_keys(self, completion: Completion) -> Completion:
        """Return a completion with API keys removed."""
        # A server may quote the key in a response, and responses are stored on disk.
        if not self._response_scrubber.has_keys:
            return completion
        lists = {name: getattr(completion, name) for name in ("retrieved", "contexts", "citations")}
        passages = [text for found in lists.values() for one in found or () for text in (one.id, one.text)]
        served = () if completion.served is None else astuple(completion.served)
        texts = (completion.reply, completion.reasoning, completion.finish, *served, *passages,
                 *(call.arguments for call in completion.calls))  # fmt: skip
        if not self._response_scrubber.contains_key("\n".join([text for text in texts if text])):
            return completion
        hide = self._response_scrubber.hide
        return replace(
            completion,
            reply=hide(completion.reply) if completion.reply else completion.reply,
            reasoning=hide(completion.reasoning) if completion.reasoning else completion.reasoning,
            finish=hide(completion.finish) if completion.finish else None,
            served=None,
            calls=tuple(replace(call, arguments=hide(call.arguments), extra=None) for call in completion.calls),
            **{
                name: found and tuple(replace(one, id=hide(one.id), text=hide(one.text)) for one in found)
                for name, found in lists.items()
            },
        )


def _checked(response: HttpResponse, accepted: tuple[int, ...] = (200,)) -> bytes:
    """Return the body of a response; any status that is not accepted is a failure."""
    if response.status in accepted:
        return response.body
    wait_s = retry_after_s(response.headers)
    raise from_status(response.status, response.body.decode("utf-8", "replace"), wait_s)


def _count_tokens(usage: Mapping[str, int] | None) -> int:
    return usage.get("in", 0) + usage.get("out", 0) if usage else 0


def _total(completion: Completion, earlier: Counter[str]) -> dict[str, int] | None:
    """Return the token usage of a response plus that of earlier attempts, which may be billed."""
    if not earlier:
        return completion.usage
    total = Counter(earlier)
    total.update(completion.usage or {})
    return dict(total)
