"""Post JSON requests to a model's server, with time limits and retries (`pacing.py` decides when)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace
from yarl import URL

from ragbed.errors import MALFORMED_JSON
from ragbed.io.retry import HttpFailure, RetryPolicy, retry_after_s
from ragbed.models.base import METER, sum_usage
from ragbed.models.failures import PAID, REJECTED, Failure, failed, from_status
from ragbed.models.providers.pacing import Pacer
from ragbed.models.providers.urls import merge_headers
from ragbed.models.secrets import ApiKey, Scrubber, encode_user_info, secrets_in
from ragbed.schema import Completion

if TYPE_CHECKING:
    from ragbed.io.http import HttpClient, HttpResponse

_LOOK_UP_S = 5.0
# Maximum number of attempts if no connection has ever succeeded; in that case, the URL is probably wrong.
_FIRST_CONNECT_ATTEMPTS = 3
# Time limit in seconds and maximum size of requests for batches, whose files are large.
_LONG_S, _MAX_BATCH_BYTES = 600.0, 1 << 30


async def _keep_body(_failure: Failure) -> None:
    return None


class Transport:
    """The connection to a model's server.

    Args:
        url: The URL to post to.
        proxy: The proxy, if any.
        headers: A function that returns the headers of a request, which may contain the key.
        keys: Secrets that must not appear in messages or responses.
        pacer: The pacer for all calls.
        policy: Time limits and maximum numbers of attempts.
    """

    def __init__(
        self, url: URL, proxy: URL | None, headers: Callable[[], Mapping[str, str]], keys: Sequence[ApiKey],
        pacer: Pacer, policy: RetryPolicy,
    ) -> None:  # fmt: skip
        self._url, self._proxy = url, proxy
        self._headers, self._pacer, self._policy = headers, pacer, policy
        self._client: HttpClient | None = None
        hidden = [*keys, *secrets_in(url), *(secrets_in(proxy) if proxy is not None else ())]
        self.scrubber = Scrubber(hidden)
        self._response_scrubber = Scrubber([key for key in hidden if not key.in_messages_only])

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
        attempt, meter = 0, METER.get()
        failed_usages: list[dict[str, int] | None] = []
        while True:
            attempt += 1
            queued = self._pacer.clock()
            await meter.reserve(body)
            await self._pacer.enter()
            started = self._pacer.clock()
            # Time spent in the queue does not count towards the time limit.
            begin = started if begin is None else begin + started - queued
            try:
                completion = await self._attempt(body, parse, begin + self._policy.item_s - started)
            except Failure as failure:
                meter.settle(Completion(outcome="error", usage=failure.usage))
                renewed = await renew(failure)
                body = body if renewed is None else renewed
                if renewed is not None and failure.kind in REJECTED:
                    continue
                failed_usages.append(failure.usage)
                self.clean(failure)
                pause = self._pause_before_retry(attempt, failure, self._pacer.clock() - begin)
                if pause is None:
                    return failed(failure, attempt, sum_usage(failed_usages))
                await asyncio.sleep(pause)
            else:
                meter.settle(completion)
                latency_s = round(self._pacer.clock() - started, 4)
                usage = sum_usage([*failed_usages, completion.usage])
                return replace(completion, latency_s=latency_s, attempts=attempt, usage=usage)

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
        if url.user is not None:
            defaults["Authorization"], url = f"Basic {encode_user_info(url)}", url.with_user(None)
        headers = merge_headers(defaults, self._headers())
        try:
            return await self._client.send(HttpRequest(method, url, headers, body, self._proxy), within_s, max_bytes)
        except HttpFailure as failure:
            raise Failure(failure.kind, str(failure), again=failure.again) from None

    def _pause_before_retry(self, attempt: int, failure: Failure, spent_s: float) -> float | None:
        """Return the delay before the next attempt, or None if the request should not be retried.

        If there is no time left for another attempt, that is added to the failure's message.
        """
        policy = self._policy
        limit = min(policy.attempts, policy.paid_attempts) if failure.kind in PAID else policy.attempts
        if failure.kind == "connect" and not self._pacer.heard:
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

    async def _attempt(self, body: bytes, parse: Callable[[bytes], Completion], left_s: float) -> Completion:
        pacer, started = self._pacer, self._pacer.clock()
        try:
            if left_s <= 0:
                raise Failure("timeout", f"the case timed out after {self._policy.item_s:,.6g} s")
            response = await self._send("POST", self._url, body, min(self._policy.attempt_s, left_s))
            completion = self.without_keys(parse(_checked(response)))
            pacer.responded(pacer.clock() - started)
            return completion
        except Failure as failure:
            if failure.kind == "rate" or (failure.kind == "server" and failure.wait_s):
                pacer.refused()
            elif failure.kind == "timeout":
                pacer.count_late()
            elif failure.kind not in ("connect", "network", "server", "tls", "protocol"):
                pacer.heard = True
            raise
        finally:
            pacer.leave()

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
        encoded = msgspec.json.encode(completion).decode()
        if not self._response_scrubber.contains_key(encoded):
            return completion
        return msgspec.json.decode(self._response_scrubber.hide(encoded), type=Completion)


def _checked(response: HttpResponse, accepted: tuple[int, ...] = (200,)) -> bytes:
    """Return the body of a response; any status that is not accepted is a failure."""
    if response.status in accepted:
        return response.body
    raise from_status(response.status, response.body.decode("utf-8", "replace"), retry_after_s(response.headers))
