"""Submit batches of requests, which providers process within a day at half the price, and collect the results.

`BatchService` uses the file and batch endpoints of OpenAI, Azure and compatible servers, and `AnthropicBatches` uses
Message Batches. Both can find a batch whose creation was not confirmed.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from yarl import URL

from ragbed.errors import MALFORMED_JSON
from ragbed.models.failures import Failure, from_status
from ragbed.models.providers.transport import Transport
from ragbed.models.providers.urls import below

_CLOCK_SKEW_S = 300  # maximum difference between the provider's clock and the local clock, in seconds
_MAX_PAGES = 100  # maximum number of pages to read from a list of batches
_MAX_PAUSE_S = 60.0


class BatchLine(NamedTuple):
    """A request in a batch; its ID starts with the batch key."""

    id: str
    body: bytes


class RemoteBatch(NamedTuple):
    """A batch as reported by the provider; if the entire batch was rejected, `problem` says why."""

    id: str
    is_over: bool
    done: int = 0
    total: int = 0
    problem: str | None = None
    is_gone: bool = False  # whether the batch no longer exists on the provider's side
    files: tuple[str, ...] = ()  # IDs or URLs of the result files


class LineResult(NamedTuple):
    """The result of one request: a response body or a failure. An expired request can be sent again."""

    id: str
    body: bytes | None
    failure: Failure | None = None
    is_expired: bool = False


class BatchService:
    """The batch service of OpenAI, Azure and compatible servers; a batch's key is stored in its metadata.

    Attributes:
        max_lines: Maximum number of requests in a batch.
        max_bytes: Maximum size of a batch in bytes.
    """

    max_lines, max_bytes = 50_000, 200_000_000

    def __init__(self, transport: Transport, base: URL) -> None:
        self._transport, self._base = transport, base

    async def create(self, key: str, lines: Sequence[BatchLine]) -> str:
        """Create a batch and return its ID.

        Raises:
            Failure: The batch was not created, or it is unknown whether it was (kind `network` or `server`).
        """
        rows = (
            {"custom_id": line.id, "method": "POST", "url": "/v1/chat/completions", "body": msgspec.Raw(line.body)}
            for line in lines
        )
        body, kind = _form(f"ragbed-{key}.jsonl", b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
        uploaded = _decode(await self._transport.request("POST", self._url("files"), body, kind=kind))
        request = {
            "input_file_id": _text(uploaded, "id"),
            "endpoint": "/v1/chat/completions",
            "completion_window": "24h",
            "metadata": {"ragbed": key},
        }
        made = await self._transport.request(
            "POST", self._url("batches"), msgspec.json.encode(request), kind="application/json", repeats=False
        )
        return _text(_decode(made), "id")

    async def find(self, key: str, since: float, count: int, known: Collection[str]) -> str | None:  # noqa: ARG002
        """Find the batch with the given key, waiting if necessary. Return its ID, or None if the batch does not exist.

        Args:
            key: The key.
            since: A time before the batch was created.
            count: The number of requests in the batch.
            known: IDs of other batches in the run.

        Raises:
            Failure: The provider cannot be reached.
        """
        async for row in self._list("batches", "after", since):
            if isinstance(row.get("metadata"), dict) and row["metadata"].get("ragbed") == key:
                return _text(row, "id")
        return None

    async def look(self, batch: str) -> RemoteBatch:
        """Return a batch's current state."""
        row = await self._get(f"batches/{batch}")
        counts, status = row.get("request_counts") or {}, row.get("status")
        ids = (row.get(name) for name in ("output_file_id", "error_file_id"))
        files = tuple(file for file in ids if isinstance(file, str) and file)  # Azure sends "" for a missing file
        done = int(counts.get("completed") or 0) + int(counts.get("failed") or 0)
        problem = (
            self._transport.scrubber.clean(msgspec.json.encode(row.get("errors")).decode()[:500])
            if status == "failed"
            else None
        )
        is_over = status in ("completed", "failed", "expired", "cancelled")
        return RemoteBatch(batch, is_over, done, int(counts.get("total") or 0), problem, files=files)

    async def results(self, batch: RemoteBatch) -> list[LineResult]:
        """Return all valid results; truncated lines and lines without an ID are skipped."""
        found = []
        for file in batch.files:
            content = await self._transport.request("GET", self._url(f"files/{file}/content"))
            found += [self._clean(_openai_line(row)) for row in _rows(content)]
        return found

    def _url(self, path: str, **query: str) -> URL:
        return below(self._base, path).update_query(query)

    def _clean(self, result: LineResult) -> LineResult:
        if result.failure is not None:
            self._transport.clean(result.failure)
        return result

    async def _get(self, path: str, **query: str) -> dict[str, Any]:
        return _decode(await self._transport.request("GET", self._url(path, **query)))

    async def _list(self, path: str, cursor: str, since: float) -> AsyncIterator[dict[str, Any]]:
        """Yield the provider's batches, the latest first, and stop after the page with the first that is too old.

        Args:
            path: The path of the list.
            cursor: The name of the query field for the last ID of the page before.
            since: The creation time of the oldest batch to yield, which may differ by the skew of the clocks.
        """
        query: dict[str, str] = {}
        for _ in range(_MAX_PAGES):
            page = await self._get(path, limit="100", **query)
            rows = [row for row in page.get("data") or () if isinstance(row, dict)]
            for row in rows:
                yield row
            oldest = min((_seconds(row.get("created_at")) for row in rows), default=0.0)
            if not page.get("has_more") or oldest < since - _CLOCK_SKEW_S:
                return
            query = {cursor: _text(rows[-1], "id")}


class AnthropicBatches(BatchService):
    """Anthropic's Message Batches, which have no metadata, so they are identified by their request IDs."""

    max_lines, max_bytes = 100_000, 256_000_000

    async def create(self, key: str, lines: Sequence[BatchLine]) -> str:  # noqa: ARG002 - the IDs contain it
        """Create a batch from the requests."""
        rows = [{"custom_id": line.id, "params": msgspec.Raw(line.body)} for line in lines]
        body = msgspec.json.encode({"requests": rows})
        url = self._url("v1/messages/batches")
        made = await self._transport.request("POST", url, body, kind="application/json", repeats=False)
        return _text(_decode(made), "id")

    async def find(self, key: str, since: float, count: int, known: Collection[str]) -> str | None:
        """Find a batch by its creation time, its size and the IDs of its results, which are known once it has ended."""
        async for row in self._list("v1/messages/batches", "after_id", since):
            total = sum(value for value in (row.get("request_counts") or {}).values() if isinstance(value, int))
            if _seconds(row.get("created_at")) < since - _CLOCK_SKEW_S or total != count or row.get("id") in known:
                continue
            batch, pause = await self.look(_text(row, "id")), 1.0
            while not batch.is_over:  # the request IDs are not available until the batch has ended
                await asyncio.sleep(pause)
                batch, pause = await self.look(batch.id), min(_MAX_PAUSE_S, 1.5 * pause)
            if any(result.id.startswith(f"{key}-") for result in await self.results(batch)):
                return batch.id
        return None

    async def look(self, batch: str) -> RemoteBatch:
        """Return a batch's current state."""
        row = await self._get(f"v1/messages/batches/{batch}")
        counts = {name: value for name, value in (row.get("request_counts") or {}).items() if isinstance(value, int)}
        is_over, total = row.get("processing_status") == "ended", sum(counts.values())
        return RemoteBatch(batch, is_over, total - counts.get("processing", 0), total)

    async def results(self, batch: RemoteBatch) -> list[LineResult]:
        """Return the results from the results file."""
        content = await self._transport.request("GET", self._url(f"v1/messages/batches/{batch.id}/results"))
        return [self._clean(_anthropic_line(row)) for row in _rows(content)]


def _form(name: str, content: bytes) -> tuple[bytes, str]:
    """Return a multipart form that contains a batch file and its purpose, and the form's content type."""
    border = b"ragbed-part"
    while border in content:
        border += b"-"
    parts = [
        b'Content-Disposition: form-data; name="purpose"\r\n\r\nbatch',
        f'Content-Disposition: form-data; name="file"; filename="{name}"\r\n'.encode()
        + b"Content-Type: application/jsonl\r\n\r\n"
        + content,
    ]
    body = b"".join(b"--" + border + b"\r\n" + part + b"\r\n" for part in parts) + b"--" + border + b"--\r\n"
    return body, f"multipart/form-data; boundary={border.decode()}"


def _rows(content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the JSON object on each line of a file, skipping truncated lines and lines without an ID."""
    for line in content.splitlines():
        with suppress(*MALFORMED_JSON):
            row = msgspec.json.decode(line)
            if isinstance(row, dict) and isinstance(row.get("custom_id"), str):
                yield row


def _openai_line(row: dict[str, Any]) -> LineResult:
    response, error = row.get("response"), row.get("error")
    if isinstance(response, dict):
        status, body = response.get("status_code"), msgspec.json.encode(response.get("body"))
        if status == 200:
            return LineResult(row["custom_id"], body)
        return LineResult(
            row["custom_id"], None, from_status(status if isinstance(status, int) else 500, body.decode())
        )
    code = error.get("code") if isinstance(error, dict) else None
    failure = Failure(
        "server",
        f"the batch contains no response for this case: {msgspec.json.encode(error).decode()[:300]}",
        again=True,
    )
    return LineResult(row["custom_id"], None, failure, is_expired=code in ("batch_expired", "batch_cancelled"))


_ANTHROPIC_STATUS = {
    "invalid_request_error": 400, "authentication_error": 401, "permission_error": 403, "not_found_error": 404,
    "rate_limit_error": 429, "overloaded_error": 529,
}  # fmt: skip


def _anthropic_line(row: dict[str, Any]) -> LineResult:
    result = row["result"] if isinstance(row.get("result"), dict) else {}
    kind = result.get("type")
    if kind == "succeeded":
        return LineResult(row["custom_id"], msgspec.json.encode(result.get("message")))
    detail = msgspec.json.encode(result.get("error") or result).decode()
    name = re.search(r'"type":"(\w+_error)"', detail)
    failure = from_status(_ANTHROPIC_STATUS.get(name[1], 500) if name else 500, detail)
    return LineResult(row["custom_id"], None, failure, is_expired=kind in ("expired", "canceled"))


def _decode(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except MALFORMED_JSON as error:
        raise Failure("protocol", f"the batch status response is not a JSON object ({error})", again=True) from None


def _text(row: Mapping[str, Any], name: str) -> str:
    value = row.get(name)
    if not isinstance(value, str) or not re.fullmatch(r"[\w.:-]{1,200}", value):
        raise Failure("protocol", f"the batch status response has no valid {name!r} field")
    return value


def _seconds(time: object) -> float:
    """Return a time, given in seconds since 1970 or in ISO format, or 0 if it is neither."""
    try:
        return float(time) if isinstance(time, int | float) else datetime.fromisoformat(str(time)).timestamp()
    except ValueError:
        return 0.0
