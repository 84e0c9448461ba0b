"""Test that every fault of a server ends as one outcome with a kind, few attempts and no key."""

from __future__ import annotations

import asyncio
import base64
import resource
import socket
from urllib.parse import quote

import pytest
from msgspec.structs import replace

from ragbed.models.secrets import ApiKey, Scrubber
from ragbed.schema import Served
from tests.models.asking import HASTY, KEY, QUICK, ask, case, model_at, with_model
from tests.servers.faulty_model import (
    Exchange,
    Fault,
    FaultServer,
    bomb,
    chat,
    close_at_once,
    close_early,
    drip,
    endless,
    endless_stream,
    hang,
    hang_in_body,
    raw,
    reply,
    reset,
    reset_in_body,
    status,
    well,
)

# What is sent, by name: the outcome or the kind of error, and the attempts it takes.
ENDS: dict[str, tuple[Fault, str, int]] = {
    "400": (status(400), "request", 1),
    "400 of a filter": (status(400, "content_filter"), "filtered", 1),
    "400 of a setting": (status(400, "Unrecognized request argument supplied: temperature"), "settings", 2),
    "401": (status(401), "auth", 1),
    "402": (status(402), "quota", 1),
    "403": (status(403), "auth", 1),
    "404": (status(404), "missing", 1),
    "408": (status(408), "timeout", 6),
    "409": (status(409), "server", 6),
    "413": (status(413), "too-long", 1),
    "429": (status(429), "rate", 2),
    "429, Retry-After negative": (status(429, Retry_After="-5"), "rate", 2),
    "429, Retry-After 1e9": (status(429, Retry_After="1e9"), "rate", 1),
    "429, a date far off": (status(429, Retry_After="Fri, 31 Dec 9999 23:59:59 GMT"), "rate", 1),
    "429, used up": (status(429, "insufficient_quota"), "quota", 1),
    "451": (status(451), "request", 1),
    **{str(code): (status(code), "server", 6) for code in (500, 501, 502, 503, 504, 529)},
    "204": (reply(status=204), "protocol", 1),
    "no JSON": (reply(b"<html>It works!</html>"), "protocol", 3),
    "nothing": (reply(b""), "protocol", 3),
    "cut JSON": (reply(chat()[:40]), "protocol", 3),
    "content of a wrong type": (reply(chat(42)), "protocol", 3),
    "choices of a wrong type": (reply(b'{"choices": 1}'), "protocol", 3),
    "depth": (reply(b'{"usage": ' + b"[" * 100_000), "protocol", 3),
    "no choices": (reply(b'{"choices": []}'), "protocol", 3),
    "an error with status 200": (reply(b'{"error": {"code": 429, "message": "slow"}}'), "rate", 2),
    "an unclear error with status 200": (reply(b'{"error": "out of luck"}'), "server", 6),
    "a wrong key with status 200": (reply(b'{"error": {"code": 401}}'), "auth", 1),
    "content null": (reply(chat(None)), "empty", 3),
    "tool calls only": (reply(chat(None, "tool_calls", tool_calls=[{"id": "1"}])), "empty", 1),
    "finish_reason content_filter": (reply(chat("Pa", "content_filter")), "filtered", 1),
    "a refusal": (reply(chat(None, refusal="I cannot")), "filtered", 1),
    # Gemini's OpenAI endpoint, as several clients handle it: a reason with details, and perhaps no message
    "a filter of Gemini without a message": (
        reply(b'{"choices": [{"finish_reason": "content_filter: PROHIBITED_CONTENT", "index": 0}]}'), "filtered", 1
    ),
    # https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_MessageStopEvent.html
    "a guardrail of Bedrock": (reply(chat("Blocked.", "guardrail_intervened")), "filtered", 1),
    # DeepSeek's API reference, as quoted in https://docs.rs/openai-interface/0.12.0/openai_interface/chat
    "an interruption of DeepSeek": (reply(chat("Pa", "insufficient_system_resource")), "server", 6),
    "a stream of 100 MB": (endless_stream, "protocol", 1),
    "100 MB": (endless, "protocol", 1),
    "100 MB announced": (reply(Content_Length=str(100 << 20)), "protocol", 1),
    "a gzip bomb": (bomb(), "protocol", 1),
    "gzip that is none": (reply(b"no gzip", Content_Encoding="gzip"), "protocol", 3),
    "an unknown coding": (reply(chat(), Content_Encoding="zstd"), "protocol", 3),
    "a redirect": (reply(status=307, Location="http://127.0.0.1:9/"), "protocol", 1),
    "reset": (reset, "network", 6),
    "reset in the body": (reset_in_body, "network", 6),
    "closed at once": (close_at_once, "network", 6),
    "closed early": (close_early, "network", 6),
    "no HTTP": (raw(b"SSH-2.0-nonsense\r\n\r\n"), "protocol", 3),
}  # fmt: skip


@pytest.mark.parametrize("name", ENDS)
def test_a_permanent_fault_ends_as_one_outcome(name: str) -> None:
    fault, expected, attempts = ENDS[name]
    # Who is refused again and again is asked once a second only, whatever its own pauses: two attempts must do here.
    done, server = ask(fault, patience=replace(QUICK, attempts=2) if expected == "rate" else QUICK)
    kind = (done.error or "").partition(":")[0]
    assert (kind or done.outcome, done.attempts, len(server.seen)) == (expected, attempts, attempts)
    assert (done.outcome == "error") == bool(done.error)
    assert done.reply is None
    assert "\n" not in (done.error or "")
    assert len(done.error or "") < 600


_NAMED = {
    "filtered": chat("Pa", "content_filter"),
    "error in the choice": b'{"choices": [{"error": {"code": 400, "message": "no"}, "finish_reason": "error"}]}',
    "error instead of choices": b'{"error": {"code": 400, "message": "no"}}',
    "used-up token limit": b'{"error": {"code": 400, "message": "could not finish the message because max_"}}',
    "incomplete stream": b'data: {"choices": [{"delta": {"content": "Pa"}}]}\n\n',
}
_NAMED_BY_ANTHROPIC = {
    "refused": b'{"content": [], "stop_reason": "refusal"}',
    "paused": b'{"content": [], "stop_reason": "pause_turn"}',
    "text of a wrong type": b'{"content": [{"type": "text", "text": 1}]}',
}


@pytest.mark.parametrize(
    ("spec", "body"),
    [
        *(pytest.param("openai-api/t/m", body, id=name) for name, body in _NAMED.items()),
        *(pytest.param("anthropic/m", body, id=f"{name}, Anthropic") for name, body in _NAMED_BY_ANTHROPIC.items()),
    ],
)
@pytest.mark.parametrize("name", ["m-7", KEY])
def test_a_response_without_an_answer_keeps_the_name_of_its_model(spec: str, body: bytes, name: str) -> None:
    done, _ = ask(reply(body.replace(b"{", b'{"model": "%s", ' % name.encode(), 1)), spec=spec)
    assert done.outcome != "ok"
    assert done.served == Served(model="[key]" if name == KEY else name)


@pytest.mark.parametrize("fault", [hang, hang_in_body, drip])
def test_a_response_that_never_ends_is_a_timeout(fault: Fault) -> None:
    done, _ = ask(fault, patience=HASTY)
    assert (done.error, done.attempts) == ("timeout: no complete response was received within 0.4 s", 2)


def test_silence_in_a_response_ends_before_the_attempt_and_is_reported_with_its_own_time_limit() -> None:
    done, _ = ask(hang_in_body, well, patience=replace(QUICK, silence_s=0.3))
    assert (done.outcome, done.attempts) == ("ok", 2)
    done, _ = ask(hang_in_body, patience=replace(QUICK, silence_s=0.3, attempts=1))
    assert done.error == "timeout: the server sent no data for 0.3 s"


def test_a_case_ends_at_its_time_limit() -> None:
    done, server = ask(hang, patience=replace(HASTY, attempt_s=0.1, item_s=0.15, attempts=6))
    assert done.outcome == "error"
    assert len(server.seen) <= 2


@pytest.mark.parametrize(
    "name", ["408", "409", "429", "500", "529", "no JSON", "cut JSON", "content null", "reset", "closed early"]
)
def test_a_passing_fault_is_retried(name: str) -> None:
    done, _ = ask(ENDS[name][0], well)
    assert (done.outcome, done.reply, done.attempts) == ("ok", "Paris", 2)


@pytest.mark.parametrize(
    ("fault", "attempts"),
    [("content null", 3), ("finish_reason content_filter", 1), ("an interruption of DeepSeek", 6)],
)
def test_tokens_of_useless_responses_are_counted(fault: str, attempts: int) -> None:
    done, _ = ask(ENDS[fault][0])
    assert done.usage == {"in": 7 * attempts, "out": 2 * attempts}


def test_a_decompression_bomb_does_not_fill_the_memory() -> None:
    fault = bomb()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    ask(fault)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10  # in KiB


@pytest.mark.parametrize(
    ("header", "asked_s"),
    [
        ({"Retry_After": "0.3"}, 0.3),
        ({"Date": "Thu, 01 Jan 2026 00:00:00 GMT", "Retry_After": "Thu, 01 Jan 2026 00:00:01 GMT"}, 1.0),
    ],
)
def test_no_retry_is_sent_before_the_time_that_the_server_sets(header: dict[str, str], asked_s: float) -> None:
    done, server = ask(status(429, **header), well)
    assert done.outcome == "ok"
    assert server.seen[1].at - server.seen[0].at >= asked_s


def test_a_wait_beyond_the_time_limit_is_explained() -> None:
    done, _ = ask(status(429, "slow down", Retry_After="1e9"))
    assert done.error is not None
    assert "the server asks for a delay of 1e+09 s, but a case times out after 20 s" in done.error


def test_no_key_follows_a_redirect() -> None:
    async def talk() -> None:
        async with FaultServer([well]) as other, FaultServer([reply(status=307, Location=other.url)]) as server:
            done = await with_model(model_at(server.url), lambda model: model.complete(case()))
        assert (done.outcome, other.seen) == ("error", [])
        assert KEY in server.seen[0].head

    asyncio.run(talk())


_SECRET = "sk-proj-Xq7Lm2Rt9Vb4Ks8Wd3Hz6Np1"
_USER_PASSWORD = base64.b64encode(f"someone:{_SECRET}".encode()).decode()
LEAKS = [
    _SECRET,
    _SECRET[:16],
    _SECRET[len(_SECRET) // 2 :],
    _SECRET[-8:],
    _SECRET.encode().hex(),
    _SECRET.encode().hex().upper()[20:44],
    base64.b64encode(_SECRET.encode()).decode(),
    base64.b64encode(f"Bearer {_SECRET}".encode()).decode()[16:],
    base64.urlsafe_b64encode(f"xx{_SECRET}".encode()).decode(),
    _USER_PASSWORD,
    quote(_SECRET),
]


@pytest.mark.parametrize("leak", LEAKS)
def test_a_piece_or_an_encoding_of_a_key_is_not_stored(leak: str) -> None:
    scrubber = Scrubber([ApiKey(_SECRET)])
    text = f"The key is {leak}, in case you forgot it."
    hidden = scrubber.hide(text)
    assert "[key]" in hidden
    assert not [start for start in range(len(leak) - 11) if leak[start : start + 12] in hidden]


ORDINARY = [
    "The documents name 2024-10-21 and 20241021 as the day; the password of the service is not given.",
    "sk-proj- is how such keys begin.",
    "Documentation, documents, document-service: 12345678 of 0123456789.",
    "U+FFFD, 0xDEADBEEF and e3b0c44298fc1c149afbf4c8996fb924 are not keys.",
]


@pytest.mark.parametrize("text", ORDINARY)
@pytest.mark.parametrize("key", [_SECRET, "document-service-password", "2024-10-21", "sk-canary-0123456789", "EMPTY"])
def test_an_ordinary_response_is_unchanged(text: str, key: str) -> None:
    assert not Scrubber([ApiKey(key)]).contains_key(text)


ECHOES = [KEY, KEY[:16], KEY[10:], quote(KEY), base64.b64encode(KEY.encode()).decode(), f"{KEY}\x1b[2J\n{KEY}"]


@pytest.mark.parametrize("echo", ECHOES)
@pytest.mark.parametrize("make", [lambda e: status(401, e), lambda e: status(500, e), lambda e: reply(e.encode())])
def test_a_key_that_the_server_quotes_is_not_passed_on(echo: str, make: object) -> None:
    done, _ = ask(make(echo))  # type: ignore[operator]
    output = repr(done)
    assert done.error is not None
    assert not [start for start in range(len(KEY) - 7) if KEY[start : start + 8] in output]
    assert base64.b64encode(KEY.encode()).decode()[:10] not in output
    assert "\x1b" not in output


async def _quote_authorization(exchange: Exchange) -> None:
    (line,) = (line for line in exchange.head.split("\r\n") if line.startswith("Authorization:"))
    await exchange.send(401, line.encode())


@pytest.mark.parametrize("user", ["user:hunter2secret", "user:pw1234", "token-without-password"])
def test_the_credentials_of_a_url_that_the_server_quotes_are_not_passed_on(user: str) -> None:
    done, _ = ask(_quote_authorization, spec="vllm/m", address=lambda url: url.replace("//", f"//{user}@"))
    output = done.error or ""
    assert "Authorization: Basic [key]" in output
    assert base64.b64encode(user.encode()).decode()[:12] not in output


def test_a_key_in_a_response_is_not_stored() -> None:
    done, _ = ask(reply(chat(f"It is {KEY}.", reasoning=KEY)))
    assert (done.reply, done.reasoning) == ("It is [key].", "[key]")
    done, _ = ask(*[reply(chat("", reasoning=KEY))] * 3)
    assert (done.outcome, done.reasoning) == ("error", "[key]")


def test_nothing_of_a_model_shows_its_key() -> None:
    model = model_at(f"http://user:{KEY}@127.0.0.1:9/v1?token={KEY}")
    shown = f"{model!r} {model.advice} {vars(model)} {model._transport.__dict__}"  # type: ignore[attr-defined]
    assert KEY not in shown.replace(f"user:{KEY}@127.0.0.1:9", "").replace(f"token={KEY}", "")
    assert KEY not in model.advice
    assert KEY not in repr(asyncio.run(with_model(model, lambda one: one.complete(case()))))


def test_a_refused_connection_is_reported_after_three_attempts() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
        done = asyncio.run(with_model(model_at(url), lambda model: model.complete(case())))
    assert done.error == f"connect: cannot connect to {url.removesuffix('/v1')} (Connection refused)"
    assert done.attempts == 3


def test_an_unknown_host_is_a_connect_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    done = asyncio.run(with_model(model_at("http://no.invalid/v1"), lambda model: model.complete(case())))
    assert done.error == "connect: cannot connect to http://no.invalid (Name or service not known)"
