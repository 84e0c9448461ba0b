"""Post JSON requests to a model's servers, with pacing, time limits and retries."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
from msgspec.structs import astuple, replace
from yarl import URL

from ragbed.errors import MALFORMED_JSON
from ragbed.io.retry_after import retry_after_s
from ragbed.models.base import METER
from ragbed.models.failures import FATAL, PAID, REJECTED, Failure, Kind, failed, from_status
from ragbed.models.providers.http.connect import Server
from ragbed.models.providers.http.connection import ResponseLimits, read_body, read_message
from ragbed.models.providers.pacing import Pacer, ServerLane
from ragbed.models.retry_policy import RetryPolicy
from ragbed.models.secrets import ApiKey, Scrubber, secrets_in
from ragbed.schema import Completion

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
# Safety margin in seconds, because timers can fire early and calls must not be sent before the time set by the
# server.
_MARGIN_S = 0.01


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
        self._servers = {url.origin(): Server(url.origin(), proxy, policy.connect_s) for url, proxy in proxies.items()}
        self._headers, self._pacer, self._policy = headers, pacer, policy
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
        limits = self._limits(_LOOK_UP_S)
        try:
            response = await self._servers[url.origin()].send(url, self._headers(), body, limits)
            page = read_body(response, limits.max_bytes(response.headers)) if response.status == 200 else b"{}"
            return msgspec.json.decode(page, type=dict[str, Any])
        except (TimeoutError, Failure, *MALFORMED_JSON):
            return {}

    async def close(self) -> None:
        """Close all connections."""
        self.probe.close()
        for server in self._servers.values():
            server.close()
        await asyncio.sleep(0)  # asyncio closes the sockets in the next iteration of the event loop

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
        longest = min(policy.longest_pause_s, policy.first_pause_s * 3.0 ** (attempt - 1))
        # Jitter is only added, never subtracted, because the time set by the server is the minimum.
        pause = (failure.wait_s or longest / 2) + _MARGIN_S + random.random() * longest / 2
        if spent_s + pause <= policy.item_s:
            return pause
        if failure.wait_s:
            failure.detail += (
                f"; the server asks for a delay of {failure.wait_s:,.6g} s, but a case times out after "
                f"{policy.item_s:,.6g} s"
            )
        else:
            failure.detail += f"; the case timed out after {policy.item_s:,.6g} s"
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
            content = await self._post_once(self._urls[lane], body, min(self._policy.attempt_s, left_s))
            completion = self.without_keys(parse(content))
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
        passages = (*(completion.retrieved or ()), *(completion.citations or ()))
        served = () if completion.served is None else astuple(completion.served)
        texts = (completion.reply, completion.reasoning, completion.finish, *served, *(one.id for one in passages),
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
            retrieved=completion.retrieved and tuple(replace(one, id=hide(one.id)) for one in completion.retrieved),
            citations=completion.citations and tuple(replace(one, id=hide(one.id)) for one in completion.citations),
        )

    async def _post_once(self, url: URL, body: bytes, limit_s: float) -> bytes:
        limits = self._limits(limit_s)
        try:
            response = await self._servers[url.origin()].send(url, self._headers(), body, limits)
        except TimeoutError as error:
            problem = str(error) or f"no complete response was received within {limit_s:.3g} s"
            raise Failure("timeout", problem, again=True) from None
        if response.status == 200:
            return read_body(response, limits.max_bytes(response.headers))
        wait_s = retry_after_s(response.headers, datetime.now(UTC))
        raise from_status(response.status, read_message(response), wait_s)

    def _limits(self, within_s: float) -> ResponseLimits:
        end = asyncio.get_running_loop().time() + within_s
        return ResponseLimits(end, self._policy.silence_s, self._policy.max_bytes)


def _count_tokens(usage: Mapping[str, int] | None) -> int:
    return usage.get("in", 0) + usage.get("out", 0) if usage else 0


def _total(completion: Completion, earlier: Counter[str]) -> dict[str, int] | None:
    """Return the token usage of a response plus that of earlier attempts, which may be billed."""
    if not earlier:
        return completion.usage
    total = Counter(earlier)
    total.update(completion.usage or {})
    return dict(total)
