"""A JSON request to a model's servers and back: connections, deadlines, retries."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

from msgspec.structs import replace
from yarl import URL

from ragbed.models.failures import FATAL, PAID, Failure, Kind, failed, from_status, wait_asked
from ragbed.models.providers.connections import Server
from ragbed.models.providers.http_connection import ResponseLimits, read_body, read_message
from ragbed.models.providers.pacing import Pacer, ServerLane
from ragbed.models.retry_policy import RetryPolicy
from ragbed.models.secrets import ApiKey, Scrubber, secrets_in
from ragbed.schema import Completion

_SLOW_S = 2.0
"""Who is turned away hears of it sooner; a server that is still at it after this long is writing a reply."""


class ServerProbe:
    """Opens when the first answer shows that the server can be asked, or is slow in coming.

    Args:
        when_open: Told once.
    """

    def __init__(self, when_open: Callable[[], object]) -> None:
        self.is_open = False
        self._when_open = when_open
        self._timer: asyncio.TimerHandle | None = None

    def knock(self) -> None:
        """A call goes out."""
        if not self.is_open and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_SLOW_S, self.open)

    def answered(self, failure: Kind | None) -> None:
        """A call came back, well or with a kind of failure."""
        if failure in FATAL:
            self.close()
        else:
            self.open()

    def open(self) -> None:
        """All may go in."""
        self.close()
        if not self.is_open:
            self.is_open = True
            self._when_open()

    def close(self) -> None:
        """Nobody is waited for any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


__all__ = ["ApiKey", "RetryPolicy", "Transport"]

_LOOK_UP_S = 5.0
"""A server that says nothing of itself within this time has nothing to say."""
_UNHEARD_ATTEMPTS = 3
"""Where no connection was ever made, the address is more likely wrong than the server asleep."""
_PARK_S = 2.0
"""A case that has to wait longer gives its place to another meanwhile."""
_PARKED_MOST = 8
"""Times as many cases as calls at once may be set aside: what is set aside counts as begun if the run is killed."""
_LEAST_LATER_S = 0.01
"""Timers may be a tick early, and no call may go before the moment that the server asked for."""


class Transport:
    """The way to the servers of one model.

    Args:
        ways: Where to post, one for each lane of the pace, and the proxy that stands before it.
        headers: Makes the headers of every request; they may hold the key.
        keys: What must never be seen in what servers say.
        when_open: Told when more than one thing may be asked at a time.
    """

    def __init__(
        self, ways: Mapping[URL, URL | None], headers: Callable[[], Mapping[str, str]], keys: Sequence[ApiKey],
        pace: Pacer, patience: RetryPolicy, when_open: Callable[[], object],
    ) -> None:  # fmt: skip
        self._urls = dict(zip(pace.lanes, ways, strict=True))
        self._servers = {url.origin(): Server(url.origin(), proxy, patience.connect_s) for url, proxy in ways.items()}
        self._headers, self._pace, self._patience = headers, pace, patience
        places = (*ways, *(proxy for proxy in ways.values() if proxy is not None))
        self._scrubber = Scrubber([*keys, *(key for place in places for key in secrets_in(place))])
        self._parked = 0
        self.make_room: Callable[[], object] = lambda: None
        self.door = ServerProbe(when_open)

    @property
    def parked(self) -> int:
        """Cases that are set aside; of too many, the rest count as being asked, which stops the flow."""
        return min(self._parked, _PARKED_MOST * self._pace.most)

    async def ask(self, body: bytes, parse: Callable[[bytes], Completion]) -> Completion:
        """Posts a body until a reply can be read or patience ends; every ask ends in an outcome."""
        begun: float | None = None
        lane: ServerLane | None = None
        attempt = 0
        usage: Counter[str] | None = None
        while True:
            attempt += 1
            came = self._pace.clock()
            lane = await self._pace.enter(len(body), lane)
            started = self._pace.clock()
            # Waiting for a turn is nobody's fault and uses up no patience.
            begun = started if begun is None else begun + started - came
            self.door.knock()
            try:
                reply = await self._attempt(lane, body, parse, begun + self._patience.item_s - started)
            except Failure as failure:
                self.door.answered(failure.kind)
                usage = usage or Counter()
                usage.update(failure.usage or {})
                failure.detail = self._scrubber.clean(failure.detail)
                pause = self._pause(attempt, failure, self._pace.clock() - begun)
                if pause is None:
                    return failed(failure, attempt, usage)
                await self._wait(pause)
            else:
                self.door.answered(None)
                return replace(reply, latency_s=round(self._pace.clock() - started, 4), attempts=attempt)

    async def look_up(self, url: URL) -> bytes | None:
        """Gets a small page of the server, or None if it has no such page; for what it says of itself."""
        limits = self._limits(_LOOK_UP_S)
        try:
            reply = await self._servers[url.origin()].ask(url, self._headers(), None, limits)
            return read_body(reply, limits.body_bytes) if reply.status == 200 else None
        except (TimeoutError, Failure):
            return None

    async def close(self) -> None:
        """Closes all connections."""
        self.door.close()
        for server in self._servers.values():
            server.close()
        await asyncio.sleep(0)  # they say so to each other in the next turn of the loop

    def _pause(self, attempt: int, failure: Failure, spent_s: float) -> float | None:
        """How long to wait before the next attempt; None if there is to be none. Says in the failure why."""
        patience = self._patience
        limit = min(patience.attempts, patience.paid_attempts) if failure.kind in PAID else patience.attempts
        if failure.kind == "connect" and not any(one.heard for one in self._pace.lanes):
            limit = min(limit, _UNHEARD_ATTEMPTS)
        if not failure.again or attempt >= limit:
            return None
        longest = min(patience.longest_pause_s, patience.first_pause_s * 3.0 ** (attempt - 1))
        # Jitter goes upwards only: what the server asks for is the least.
        pause = (failure.wait_s or longest / 2) + _LEAST_LATER_S + random.random() * longest / 2
        if spent_s + pause <= patience.item_s:
            return pause
        if failure.wait_s:
            failure.detail += f"; it asks to wait {failure.wait_s:,.6g} s, and a case is given {patience.item_s:,.6g} s"
        else:
            failure.detail += f"; the {patience.item_s:,.6g} s that a case is given are over"
        return None

    async def _wait(self, pause: float) -> None:
        if pause < _PARK_S:
            await asyncio.sleep(pause)
            return
        self._parked += 1
        try:
            if self._parked <= _PARKED_MOST * self._pace.most:
                self.make_room()
            await asyncio.sleep(pause)
        finally:
            self._parked -= 1

    async def _attempt(
        self, lane: ServerLane, body: bytes, parse: Callable[[bytes], Completion], left_s: float
    ) -> Completion:  # fmt: skip
        try:
            if left_s <= 0:
                raise Failure("timeout", f"the {self._patience.item_s:,.6g} s that a case is given are over")
            reply = self._keep_secret(
                parse(await self._post(self._urls[lane], body, min(self._patience.attempt_s, left_s)))
            )
            lane.replied(self._pace.clock())
            if reply.usage:
                self._pace.spent(len(body), sum(reply.usage.values()))
            return reply
        except Failure as failure:
            self._report(lane, failure)
            raise
        finally:
            self._pace.leave(lane)

    def _report(self, lane: ServerLane, failure: Failure) -> None:
        """Tells the pace what a failure says of the server."""
        now = self._pace.clock()
        if failure.kind == "rate" or (failure.kind == "server" and failure.wait_s):
            lane.refused(now)
        elif failure.kind in ("timeout", "connect", "network", "server", "tls", "protocol"):
            lane.failed(now, late=failure.kind == "timeout")
        else:
            lane.heard = True

    def _keep_secret(self, reply: Completion) -> Completion:
        """A reply as it may be stored: a server that quotes the key in it is not to bring it to the disk."""
        if not self._scrubber.has_keys:
            return reply
        named = [one.id for one in (*(reply.retrieved or ()), *(reply.citations or ()))]
        told = (reply.reply, reply.reasoning, reply.finish, *named)
        if not self._scrubber.holds("\n".join([text for text in told if text])):
            return reply
        hide = self._scrubber.hide
        return replace(
            reply,
            reply=hide(reply.reply) if reply.reply else reply.reply,
            reasoning=hide(reply.reasoning) if reply.reasoning else None,
            finish=hide(reply.finish) if reply.finish else None,
            retrieved=reply.retrieved and tuple(replace(one, id=hide(one.id)) for one in reply.retrieved),
            citations=reply.citations and tuple(replace(one, id=hide(one.id)) for one in reply.citations),
        )

    async def _post(self, url: URL, body: bytes, limit_s: float) -> bytes:
        limits = self._limits(limit_s)
        try:
            reply = await self._servers[url.origin()].ask(url, self._headers(), body, limits)
        except TimeoutError:
            raise Failure("timeout", f"no whole reply within {limit_s:.3g} s", again=True) from None
        if reply.status == 200:
            return read_body(reply, limits.body_bytes)
        raise from_status(reply.status, read_message(reply), wait_asked(reply.headers, datetime.now(UTC)))

    def _limits(self, within_s: float) -> ResponseLimits:
        patience = self._patience
        return ResponseLimits(asyncio.get_running_loop().time() + within_s, patience.silence_s, patience.max_bytes)
