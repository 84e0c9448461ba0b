"""A mock server of provider batches: OpenAI's files and batches, Anthropic's Message Batches, and direct calls.

    with mock_batches(BatchBehaviour(expired=0.1)) as url: …

It runs in a separate process, so that it survives the process that is killed (or in this one, for tests that kill
nothing). A response depends on the request alone,
so that a run in batches and a direct run get equal responses. `GET stats` returns what was created.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web


@dataclass(frozen=True)
class BatchBehaviour:
    """How the server behaves; output is always shuffled."""

    delay_s: float = 0.3
    """Until a batch is over."""
    expired: float = 0.0
    """Share of lines that expire in the first batch that has them."""
    failed: float = 0.0
    """Share of lines in the error file, by request."""
    refused_polls: float = 0.0
    """Share of requests about batches that get 429."""
    damage: str = ""
    """foreign, duplicate or truncated: a defect of the output."""
    refuses: bool = False
    """Whether every batch is refused when it is created."""
    invalid: bool = False
    """Whether every batch fails its validation."""
    lost_answers: int = 0
    """Number of creations after which the connection is closed without a response."""
    unlisted_s: float = 0.0
    """Until a batch appears in the list."""
    max_enqueued: int = 0
    """Maximum lines of a batch, above which it fails; 0 for no maximum."""
    max_queued: int = 0
    """Maximum lines of all batches in progress, above which a new batch fails; 0 for no maximum."""
    no_results: bool = False
    """Whether the results of batches have been deleted."""
    gone: bool = False
    """Whether batches are unknown after their creation."""
    quotes_headers: bool = False
    """Whether errors quote the headers of the request."""
    rejects: tuple[str, ...] = ()
    """Parameters that the server rejects, one at a time."""
    truncated: float = 0.0
    """Share of requests, by prompt, that need more than 1,000 tokens."""
    thinks: bool = False
    """Whether responses have a thought."""
    max_limit: int = 0
    """Highest token limit that the server accepts; 0 for any."""
    log: str = ""
    """File that gets a line for each event: upload, create, poll, download."""
    pause_s: float = 0.0
    """Between an event and its response, so that a process can be killed there."""


@contextmanager
def mock_batches(behaviour: BatchBehaviour) -> Iterator[str]:
    """Start a server; yield its URL without a path."""
    command = [sys.executable, "-m", __name__, json.dumps(asdict(behaviour))]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=root) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        finally:
            process.kill()


def _rejection(message: str, param: str | None) -> tuple[int, dict[str, Any]]:
    code = None if param is None else "unsupported_parameter"
    return 400, {"error": {"message": message, "type": "invalid_request_error", "param": param, "code": code}}


def _message(text: str, thought: str | None, out: int, *, anthropic: bool, is_truncated: bool) -> dict[str, Any]:
    usage: dict[str, Any]
    if anthropic:
        content = [] if thought is None else [{"type": "thinking", "thinking": thought}]
        content += [{"type": "text", "text": text}] if text else []
        reason = "max_tokens" if is_truncated else "end_turn"
        usage = {"input_tokens": 700, "output_tokens": out}
        return {"id": "msg", "model": "m", "content": content, "stop_reason": reason, "usage": usage}
    usage = {"prompt_tokens": 700, "completion_tokens": out, "total_tokens": 700 + out}
    message = {"role": "assistant", "content": text} | ({"reasoning_content": thought} if thought else {})
    choice = {"index": 0, "message": message, "finish_reason": "length" if is_truncated else "stop"}
    return {"id": "chat", "model": "m", "choices": [choice], "usage": usage}


class _Server:
    def __init__(self, behaviour: BatchBehaviour) -> None:
        self._behaviour, self._random = behaviour, random.Random(0)
        self._files: dict[str, bytes] = {}
        self._batches: dict[str, dict[str, Any]] = {}
        self._seen: Counter[str] = Counter()
        self._direct = 0
        self._lost = behaviour.lost_answers
        self._quoted = ""

    async def _log(self, event: str) -> None:
        if self._behaviour.log:
            with Path(self._behaviour.log).open("a", encoding="utf-8") as log:
                log.write(f"{event}\n")
        if self._behaviour.pause_s:
            await asyncio.sleep(self._behaviour.pause_s)

    def app(self) -> web.Application:
        app = web.Application(client_max_size=1 << 28)
        app.router.add_get("/stats", self.stats)
        app.router.add_get("/v1/models", self.models)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/v1/messages", self.chat)
        app.router.add_post("/v1/files", self.upload)
        app.router.add_get("/v1/files/{id}/content", self.content)
        for base in ("/v1/batches", "/v1/messages/batches"):
            app.router.add_post(base, self.create)
            app.router.add_get(base, self.list_batches)
            app.router.add_get(base + "/{id}", self.look)
        app.router.add_get("/v1/messages/batches/{id}/results", self.results)
        return app

    async def stats(self, _: web.Request) -> web.Response:
        keys = Counter(batch["key"] for batch in self._batches.values())
        lines = Counter(line for batch in self._batches.values() for line in batch["bodies"])
        paid = Counter(line for batch in self._batches.values() for line in self._paid(batch))
        return web.json_response(
            {
                "batches": len(self._batches),
                "keys": max(keys.values(), default=0),
                "calls": self._direct,
                "lines": lines,
                "paid": paid,
            }
        )

    def _paid(self, batch: dict[str, Any]) -> Iterator[str]:
        """Yield the requests with a response."""
        for line, body in zip(batch["lines"], batch["bodies"], strict=True):
            status, _ = self._answer(line["body"], anthropic=batch["anthropic"])
            if status == 200 and line["custom_id"] not in batch["expired"]:
                yield body

    async def models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": []})

    async def chat(self, request: web.Request) -> web.Response:
        self._direct += 1
        body = await request.json()
        status, answer = self._answer(body, anthropic=request.path.endswith("messages"))
        return web.json_response(answer, status=status)

    def _answer(self, body: dict[str, Any], *, anthropic: bool) -> tuple[int, dict[str, Any]]:
        prompt = {name: body[name] for name in ("messages", "system") if name in body}
        digest = hashlib.sha256(json.dumps(prompt, sort_keys=True).encode()).hexdigest()[:16]
        limit = body.get("max_completion_tokens") or body.get("max_tokens") or 0
        rejected = next((name for name in self._behaviour.rejects if name in body), None)
        if rejected is not None:
            return _rejection(f"Unsupported parameter: '{rejected}' is not supported with this model.", rejected)
        if 0 < self._behaviour.max_limit < limit:
            return _rejection(f"max_tokens is too large: {limit}.", None)
        if int(digest[:4], 16) < self._behaviour.failed * 65_536:
            return _rejection(f"the prompt is not valid{self._quoted}", None)
        is_truncated = int(digest[4:8], 16) < self._behaviour.truncated * 65_536 and limit < 1_000
        thought = "It may be Paris." if self._behaviour.thinks else None
        text = "" if is_truncated and thought is not None else f"It is {digest}." if not is_truncated else "It is"
        return 200, _message(
            text, thought, limit if is_truncated else 12, anthropic=anthropic, is_truncated=is_truncated
        )

    async def upload(self, request: web.Request) -> web.Response:
        form = await request.post()
        file: Any = form["file"]
        assert form["purpose"] == "batch"
        name = f"file-{len(self._files)}"
        self._files[name] = file.file.read()
        await self._log("upload")
        return web.json_response({"id": name, "object": "file"})

    async def create(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        if self._behaviour.quotes_headers:
            self._quoted = f" {dict(request.headers)}"
        if self._behaviour.refuses:
            return web.json_response({"error": {"message": "batches are not available"}}, status=403)
        anthropic = "messages" in request.path
        if anthropic:
            lines = [{"custom_id": row["custom_id"], "body": row["params"]} for row in body["requests"]]
            key = lines[0]["custom_id"].rpartition("-")[0]
        else:
            lines = [json.loads(line) for line in self._files[body["input_file_id"]].splitlines()]
            key = body["metadata"]["ragbed"]
        name = f"batch-{len(self._batches)}"
        bodies = [hashlib.sha256(json.dumps(line["body"]).encode()).hexdigest()[:16] for line in lines]
        queued = sum(
            len(batch["lines"])
            for batch in self._batches.values()
            if not batch["is_excess"] and time.time() <= batch["at"] + self._behaviour.delay_s
        )
        self._batches[name] = {
            "is_excess": 0 < self._behaviour.max_queued < queued + len(lines),
            "key": key, "lines": lines, "bodies": bodies, "at": time.time(), "anthropic": anthropic,
            "expired": [line["custom_id"] for line, digest in zip(lines, bodies, strict=True) if self._expires(digest)],
        }  # fmt: skip
        await self._log("create")
        if self._lost:
            self._lost -= 1
            assert request.transport is not None
            request.transport.close()
        return web.json_response(self._row(name))

    def _expires(self, digest: str) -> bool:
        self._seen[digest] += 1
        return self._seen[digest] == 1 and int(digest[:4], 16) < self._behaviour.expired * 65_536

    def _row(self, name: str) -> dict[str, Any]:
        batch = self._batches[name]
        is_over, count = time.time() > batch["at"] + self._behaviour.delay_s, len(batch["lines"])
        if batch["anthropic"]:
            counts = {"processing": 0 if is_over else count, "succeeded": count if is_over else 0}
            created = datetime.fromtimestamp(batch["at"], UTC).isoformat()
            status = "ended" if is_over else "in_progress"
            return {"id": name, "processing_status": status, "request_counts": counts, "created_at": created}
        status = "in_progress" if not is_over else "expired" if batch["expired"] else "completed"
        if self._behaviour.invalid:
            status = "failed"
        is_too_large = batch["is_excess"] or 0 < self._behaviour.max_enqueued < count
        if is_too_large:
            status = "failed"
        row = {"id": name, "status": status, "created_at": int(batch["at"]), "metadata": {"ragbed": batch["key"]}}
        if status == "failed":
            code = "token_limit_exceeded" if is_too_large else "invalid_json"
            row["errors"] = {"data": [{"code": code, "message": f"line 1 is not valid{self._quoted}"}]}
        elif is_over:
            row["output_file_id"] = f"{name}-out"
            row["error_file_id"] = f"{name}-err" if self._file(name, "err") else ""  # like Azure
        return row | {"request_counts": {"total": count, "completed": count if is_over else 0, "failed": 0}}

    def _is_refused(self) -> bool:
        return self._random.random() < self._behaviour.refused_polls

    async def list_batches(self, request: web.Request) -> web.Response:
        if self._is_refused():
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        anthropic = "messages" in request.path
        rows = [self._row(name) for name, batch in self._batches.items() if batch["anthropic"] == anthropic]
        rows = [row for row in rows if time.time() >= self._batches[row["id"]]["at"] + self._behaviour.unlisted_s]
        rows.reverse()
        after = request.query.get("after") or request.query.get("after_id")
        if after:
            rows = rows[[row["id"] for row in rows].index(after) + 1 :]
        page = rows[:3]  # smaller than requested, so that pages are used
        return web.json_response({"data": page, "has_more": len(rows) > len(page)})

    async def look(self, request: web.Request) -> web.Response:
        if self._is_refused():
            return web.json_response({"error": {"message": "slow down"}}, status=429)
        if self._behaviour.gone:
            return web.json_response({"error": {"message": "no such batch"}}, status=404)
        await self._log("poll")
        return web.json_response(self._row(request.match_info["id"]))

    async def content(self, request: web.Request) -> web.Response:
        await self._log("download")
        if self._behaviour.no_results:
            return web.json_response({"error": {"message": "no such file"}}, status=404)
        name, _, kind = request.match_info["id"].rpartition("-")
        return web.Response(body=self._damaged(self._file(name, kind)))

    def _file(self, name: str, kind: str) -> list[dict[str, Any]]:
        rows = self._lines(name)
        is_error = [row["error"] is not None or row["response"]["status_code"] != 200 for row in rows]
        return [row for row, error in zip(rows, is_error, strict=True) if error == (kind == "err")]

    async def results(self, request: web.Request) -> web.Response:
        await self._log("download")
        if self._behaviour.no_results:
            return web.json_response({"error": {"message": "no such file"}}, status=404)
        return web.Response(body=self._damaged(self._lines(request.match_info["id"])))

    def _lines(self, name: str) -> list[dict[str, Any]]:
        batch = self._batches[name]
        rows = []
        for line in batch["lines"]:
            status, answer = self._answer(line["body"], anthropic=batch["anthropic"])
            is_expired, custom = line["custom_id"] in batch["expired"], line["custom_id"]
            if batch["anthropic"]:
                kind = "succeeded" if status == 200 else "errored"
                result = {"type": kind, "message" if status == 200 else "error": answer}
                rows.append({"custom_id": custom, "result": {"type": "expired"} if is_expired else result})
            elif is_expired:
                error = {"code": "batch_expired", "message": "expired"}
                rows.append({"custom_id": custom, "response": None, "error": error})
            else:
                response = {"status_code": status, "body": answer}
                rows.append({"custom_id": custom, "response": response, "error": None})
        random.Random(name).shuffle(rows)
        return rows

    def _damaged(self, rows: list[dict[str, Any]]) -> bytes:
        content = [json.dumps(row).encode() for row in rows]
        if content and self._behaviour.damage == "foreign":
            content.insert(0, json.dumps({**rows[0], "custom_id": "another-7"}).encode())
        if content and self._behaviour.damage == "duplicate":
            content.append(content[0].replace(b"It is", b"It was"))
        if content and self._behaviour.damage == "truncated":
            content[-1] = content[-1][: len(content[-1]) // 2]
        return b"\n".join(content)


@contextmanager
def batches_in_thread(behaviour: BatchBehaviour) -> Iterator[str]:
    """Start a server in this process, which takes less time than a separate one; yield its URL without a path."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_start(behaviour), loop).result()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        asyncio.run_coroutine_threadsafe(runner.cleanup(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start(behaviour: BatchBehaviour) -> web.AppRunner:
    runner = web.AppRunner(_Server(behaviour).app(), access_log=None, shutdown_timeout=0)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    return runner


async def _serve(behaviour: BatchBehaviour) -> None:
    runner = await _start(behaviour)
    print(runner.addresses[0][1], flush=True)  # noqa: T201
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(_serve(BatchBehaviour(**json.loads(sys.argv[1]))))
