"""Test URLs and connections: certificates, persistent connections and proxies."""

from __future__ import annotations

import asyncio
import base64
import ssl
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import trustme
from yarl import URL

from ragbed.errors import UsageError
from ragbed.models import ModelConfig, open_model
from ragbed.models.providers.urls import proxy_for
from ragbed.schema import Completion
from tests.models.asking import KEY, QUICK, case, with_model
from tests.servers.faulty_model import Fault, FaultServer, chat, raw, well

_PAST: dict[str, Any] = {"not_before": datetime(2020, 1, 1, tzinfo=UTC), "not_after": datetime(2020, 2, 1, tzinfo=UTC)}
_PLAIN = b"HTTP/1.1 200 OK\r\n"


async def _ask(url: str, times: int = 1, **environ: str) -> list[Completion]:
    expected = environ | {"T_BASE_URL": url, "T_API_KEY": KEY}
    model = open_model("openai-api/t/m", lambda name: ModelConfig(name, expected, retry_policy=QUICK))

    async def ask_all(asked: Any) -> list[Completion]:
        return [await asked.complete(case()) for _ in range(times)]

    return await with_model(model, ask_all)


def _ask_server(script: Sequence[Fault], times: int) -> tuple[list[Completion], FaultServer]:
    server = FaultServer(list(script))

    async def talk() -> list[Completion]:
        async with server:
            return await _ask(server.url, times)

    return asyncio.run(talk()), server


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> trustme.CA:
    """Return a certificate authority that this process trusts."""
    made = trustme.CA()
    made.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authority.pem"))
    return made


def _encrypted(authority: trustme.CA, name: str = "localhost", **dates: Any) -> FaultServer:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **dates).configure_cert(context)
    return FaultServer([well], encryption=context)


def test_a_valid_certificate_is_trusted(authority: trustme.CA) -> None:
    async def talk() -> None:
        async with _encrypted(authority) as server:
            (done,) = await _ask(server.url)
        assert done.reply == "Paris"

    asyncio.run(talk())


@pytest.mark.parametrize("fault", ["untrusted", "expired", "of another host"])
def test_an_invalid_certificate_ends_the_call_before_the_key_is_sent(fault: str, authority: trustme.CA) -> None:
    servers = {
        "untrusted": lambda: _encrypted(trustme.CA()),
        "expired": lambda: _encrypted(authority, **_PAST),
        "of another host": lambda: _encrypted(authority, "other.test"),
    }

    async def talk() -> None:
        async with servers[fault]() as server:
            (done,) = await _ask(server.url)
        assert (done.error or "").startswith(f"tls: the certificate of {URL(server.url).origin()} is not valid: ")
        assert "SSL_CERT_FILE" in (done.error or "")
        assert (done.attempts, server.seen) == (1, [])

    asyncio.run(talk())


def test_a_connection_is_kept_between_calls() -> None:
    done, server = _ask_server([well], 3)
    assert [one.reply for one in done] == ["Paris"] * 3
    assert server.connections == 1


def test_a_reply_without_a_length_ends_with_its_connection() -> None:
    done, server = _ask_server([raw(_PLAIN + b"\r\n" + chat())], 2)
    assert [one.reply for one in done] == ["Paris"] * 2
    assert server.connections == 2


class _Proxy:
    """A proxy that forwards requests or opens tunnels, and records the heads it reads."""

    def __init__(self, *, refuses: bool = False) -> None:
        self.heads: list[str] = []
        self._refuses = refuses

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        self.heads.append(head)
        method, target, _ = head.split("\r\n", 1)[0].split(" ")
        if self._refuses:
            writer.write(b"HTTP/1.1 407 Who are you?\r\nContent-Length: 0\r\n\r\n")
            writer.close()
            return
        url = URL(f"//{target}" if method == "CONNECT" else target)
        there, back = await asyncio.open_connection(url.host, url.port)
        if method == "CONNECT":
            writer.write(b"HTTP/1.1 200 Go ahead\r\n\r\n")
        else:
            back.write(head.replace(target, url.raw_path_qs, 1).encode())
        await asyncio.gather(_pump(reader, back), _pump(there, writer))


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    try:
        while piece := await source.read(1 << 16):
            sink.write(piece)
    except OSError:
        pass
    sink.close()


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_proxy_is_used_and_sees_no_key_of_an_encrypted_call(encrypted: bool, authority: trustme.CA) -> None:
    proxy = _Proxy()

    async def talk() -> None:
        server = _encrypted(authority) if encrypted else FaultServer([well])
        async with server, await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as between:
            address = f"http://me:secret-password@127.0.0.1:{between.sockets[0].getsockname()[1]}"
            (done,) = await _ask(server.url, http_proxy=address, HTTPS_PROXY=address)
        assert done.reply == "Paris"

    asyncio.run(talk())
    assert f"Proxy-Authorization: Basic {base64.b64encode(b'me:secret-password').decode()}" in proxy.heads[0]
    assert (KEY in "".join(proxy.heads)) == (not encrypted)


def test_a_proxy_that_refuses_is_a_connect_failure_without_its_password(authority: trustme.CA) -> None:
    async def talk() -> None:
        proxy = _Proxy(refuses=True)
        async with _encrypted(authority) as server, await asyncio.start_server(proxy.serve, "127.0.0.1", 0) as between:
            port = between.sockets[0].getsockname()[1]
            (done,) = await _ask(server.url, https_proxy=f"http://me:secret-password@127.0.0.1:{port}")
        expected = f"connect: the proxy http://127.0.0.1:{port} refused the connection: HTTP 407 Who are you?"
        assert done.error == expected

    asyncio.run(talk())


@pytest.mark.parametrize(
    ("url", "environ", "proxy"),
    [
        ("http://a.test/v1", {}, None),
        ("http://a.test/v1", {"HTTPS_PROXY": "http://p:1"}, None),
        ("https://a.test/v1", {"HTTPS_PROXY": "http://p:1"}, "http://p:1"),
        ("https://a.test/v1", {"HTTPS_PROXY": "http://p:1", "https_proxy": "q:2"}, "http://q:2"),
        ("https://a.test/v1", {"https_proxy": "p:1", "no_proxy": "b.test, .test"}, None),
        ("https://a.test/v1", {"https_proxy": "p:1", "NO_PROXY": "*"}, None),
        ("http://a.test:8000/v1", {"http_proxy": "p:1", "no_proxy": "b.test,a.test:8000"}, None),
        ("http://a.test:8001/v1", {"http_proxy": "p:1", "no_proxy": "a.test:8000"}, "http://p:1"),
        ("http://10.1.2.3:8000/v1", {"http_proxy": "p:1", "no_proxy": "10.1.2.3:8000"}, None),
        ("http://a.test/v1", {"http_proxy": "socks5://p:1", "no_proxy": "a.test"}, None),
    ],
)
def test_the_proxy_comes_from_the_environment(url: str, environ: dict[str, str], proxy: str | None) -> None:
    assert proxy_for(URL(url), environ) == (None if proxy is None else URL(proxy))


@pytest.mark.parametrize("proxy", ["socks5://me:secret-password@p:1", "https://p:1", "socks5h://p"])
def test_a_proxy_with_another_scheme_is_a_usage_error_that_names_the_variable(proxy: str) -> None:
    with pytest.raises(UsageError, match=r"^HTTPS_PROXY is set to a .* only http:// proxies are supported") as expected:
        proxy_for(URL("https://a.test/v1"), {"HTTPS_PROXY": proxy})
    assert "secret" not in str(expected.value)
