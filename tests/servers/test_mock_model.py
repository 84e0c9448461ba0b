"""The mock model server behaves, and misbehaves, as its parameters say."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from email.message import Message
from pathlib import Path

import pytest

from tests.servers.mock_model import Behaviour, mock_model


def _send(url: str, path: str = "chat/completions", body: bytes | None = b"{}") -> tuple[int, bytes, Message]:
    try:
        with urllib.request.urlopen(urllib.request.Request(f"{url}/{path}", body), timeout=5) as response:
            return response.status, response.read(), response.headers
    except urllib.error.HTTPError as error:
        return error.code, error.read(), error.headers


def _content(url: str, body: bytes) -> str:
    return str(json.loads(_send(url, body=body)[1])["choices"][0]["message"]["content"])


def test_a_response_depends_on_the_request_alone_and_is_logged(tmp_path: Path) -> None:
    log = tmp_path / "calls"
    with mock_model(Behaviour(0, log=str(log))) as url:
        contents = [_content(url, body) for body in (b"a", b"b", b"a")]
    assert contents[0] == contents[2] != contents[1]
    assert [f"It is {digest}." for digest in log.read_text("utf-8").split()] == contents


def test_requests_beyond_the_slots_wait() -> None:
    with mock_model(Behaviour(0.1, slots=2)) as url, ThreadPoolExecutor(4) as pool:
        started = time.monotonic()
        assert [status for status, *_ in pool.map(lambda _: _send(url), range(4))] == [200] * 4
        assert time.monotonic() - started >= 0.2


def test_requests_above_the_rate_get_429_until_the_limit_is_lifted() -> None:
    with mock_model(Behaviour(0, rate=0.01, burst=1, retry_after_s=7)) as url:
        answered = [_send(url) for _ in range(3)]
        early = json.loads(_send(url, "stats", None)[1])["early"]
        _send(url, "limit", b"0")
        assert [status for status, *_ in answered] == [200, 429, 429]
        assert [headers["Retry-After"] for *_, headers in answered] == [None, "7", "7"]
        assert (early, _send(url)[0]) == (1, 200)


@pytest.mark.parametrize(("behaviour", "status"), [(Behaviour(0, refused=1), 429), (Behaviour(0, failed=1), 500)])
def test_a_share_of_requests_fails(behaviour: Behaviour, status: int) -> None:
    with mock_model(behaviour) as url:
        assert _send(url)[0] == status


def test_a_request_that_hangs_is_never_answered() -> None:
    with mock_model(Behaviour(0, hung=1)) as url:
        with pytest.raises(TimeoutError):
            urllib.request.urlopen(f"{url}/chat/completions", b"{}", timeout=0.3)
        assert sum(json.loads(_send(url, "stats", None)[1])["hung"].values()) == 1
