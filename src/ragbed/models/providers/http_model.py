"""Base class for all models that are called over HTTP."""

from __future__ import annotations

import asyncio
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from ragbed.models.base import canonical
from ragbed.models.failures import FATAL, REJECTED, Failure, failed
from ragbed.models.providers.negotiation import Learned, Negotiation, adjust
from ragbed.models.providers.pacing import Pacer
from ragbed.models.providers.transport import Transport
from ragbed.models.providers.urls import below, merge_headers, proxy_for, read_url
from ragbed.models.secrets import ApiKey, without_secrets
from ragbed.models.token_limit import TokenLimit
from ragbed.schema import Case, Completion
from ragbed.text import estimate_tokens

if TYPE_CHECKING:
    from ragbed.models import ModelConfig

_SECRET_HEADER = re.compile("auth|key|token|cookie|secret|password", re.IGNORECASE)
# Matches a date or version at which a provider has fixed a model: 2024-07-18, 20250514, 08-2024, 2411, 0613 or 001.
_DATED = re.compile(
    r"(?<!\d)(?:20\d\d-?[01]\d(?:-?[0-3]\d)?|[01]\d-20\d\d|2\d(?:0[1-9]|1[0-2])|(?:0[1-9]|1[0-2])[0-3]\d|00\d)(?!\d)"
)
_DEFAULT_CONNECTIONS = 64  # by default, at most; adaptive concurrency determines how many are useful
_PER_MESSAGE = 16  # maximum number of tokens that a chat template adds to each message, and to the prompt as a whole
_PROMPT_FIELDS = ("messages", "prompt", "system")  # request fields that differ from case to case


class ServiceConfig(msgspec.Struct, frozen=True):
    """A model's connection settings.

    Attributes:
        config: The settings that the user has made.
        name: The model string.
        remote: The model's name on the server.
        url: The base URL.
        key: The API key.
        variable: The environment variable that holds the key.
        is_custom: Whether the URL is the user's rather than the provider's own.
    """

    config: ModelConfig
    name: str
    remote: str
    url: str
    key: ApiKey | None
    variable: str
    is_custom: bool = False

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"  # the environment and the headers may contain keys


class HttpModel(ABC):
    """A model that is called over HTTP; subclasses define the requests and parse the responses.

    Attributes:
        sent: The parameters of the last request that got a response, without the prompt.
        limit: The token limit for requests.
        negotiation: The parameters that the server has turned out to accept or reject.
        header_names: The names of the headers that the user has set.
    """

    path: str  # path of the API method relative to the base URL
    may_stream = False  # whether streamed responses can be parsed
    meters_requests = True

    def __init__(self, service: ServiceConfig, fixed: frozenset[str] = frozenset()) -> None:
        self.name, self.concurrency = service.name, 1
        self._service, self._config = service, service.config
        self._base = read_url(service.url, service.name)
        self.make_room: Callable[[], object] = lambda: None
        keys = [*([] if service.key is None else [service.key]), *_header_secrets(service.config.headers)]
        proxy = proxy_for(self._base, service.config.environ)
        way = "the network" if proxy is None else f"the proxy ({without_secrets(proxy)})"
        url = without_secrets(self._base)
        to_check = f"the key ({service.variable}), the model name ({service.remote}), the URL ({url})"
        self.advice = f"Check {to_check} and {way}."
        policy, per_minute = self._config.retry_policy, self._config.per_minute
        self._pacer = Pacer(
            self._config.connections or _DEFAULT_CONNECTIONS,
            slow_s=policy.attempt_s / 2 if self._config.connections is None else None,
            per_s=None if per_minute is None else per_minute / 60,
        )
        self._transport = Transport(below(self._base, self.path), proxy, self._all_headers, keys, self._pacer, policy)
        self.limit, self.negotiation = TokenLimit(service.config.sampling), Negotiation(fixed | service.config.fixed)
        self._settled = asyncio.Event()
        self._settled.set()
        self.sent: Mapping[str, Any] = {}
        self.header_names = sorted(service.config.headers)
        self._noted: tuple[int, str] | None = None  # the token limit and the negotiated parameters in `sent`

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # a server samples by itself
        """Call the server, retrying as needed."""

        async def call(max_tokens: int) -> Completion:
            try:
                self.check_length(case, max_tokens)
            except Failure as failure:
                return failed(failure, 0)
            return await self._post(canonical(self._body(case, max_tokens)), case, max_tokens)

        return await self.limit.complete(call)

    def check_length(self, case: Case, max_tokens: int) -> None:
        """Check that a prompt and its response fit into the context length that the user set; see `Batching`."""
        tokens = self._config.context_length
        if tokens is None:
            return
        text = "\n".join(message.content for message in case.messages)
        added = _PER_MESSAGE * (len(case.messages) + 1)
        # No text has more tokens than bytes.
        if len(text.encode("utf-8", "surrogatepass")) + added + max_tokens <= tokens:
            return
        estimate = estimate_tokens(text) + added
        if estimate + max_tokens > tokens:
            raise Failure(
                "too-long",
                f"the prompt (up to {estimate:,} tokens, an upper estimate) and the response (up to {max_tokens:,} "
                f"tokens) do not fit in the context window of {tokens:,} tokens",
            )

    async def _post(self, body: bytes, case: Case, max_tokens: int) -> Completion:
        """Post a body with the parameters that the server accepts.

        After a rejection, one call determines which parameters the server accepts, while the others wait.
        """
        await self._settled.wait()
        sent, leads = self._adjusted(body), False
        rejected: set[bytes] = set()

        async def renew(failure: Failure) -> bytes | None:
            """Return an adjusted body if this or another failed call shows which change is needed, otherwise None."""
            nonlocal sent, leads
            if failure.kind in REJECTED:
                rejected.add(sent)
                if not leads:
                    await self._settled.wait()
            before, sent = sent, self._adjusted(body)
            if before == sent and self.negotiation.learn(
                failure, msgspec.json.decode(sent), may_stream=self.may_stream
            ):
                sent, leads = self._adjusted(body), True
                self._settled.clear()
            return sent if sent != before and sent not in rejected else None

        try:
            done = await self._transport.post(sent, self._parser(case), renew)
        finally:
            if leads:
                self._settled.set()
        if (done.error or "").partition(":")[0] not in (*FATAL, "request"):
            self._allow_concurrency()
        if done.outcome != "error" and self._noted != (parameters := (max_tokens, self.negotiated)):
            self._noted = parameters
            self._note_sent(sent)
        return done

    def _note_sent(self, body: bytes) -> None:
        fields = msgspec.json.decode(body, type=dict[str, Any])
        self.sent = {name: value for name, value in fields.items() if name not in _PROMPT_FIELDS}

    def _adjusted(self, body: bytes) -> bytes:
        if not self.negotiation.learned:
            return body
        return canonical(self.negotiation.apply(msgspec.json.decode(body, type=dict[str, Any])))

    @property
    def negotiated(self) -> str:
        """A description of the parameters that were changed for the server, or an empty string if none were."""
        return self.negotiation.describe()

    @property
    def cache_scope(self) -> str:
        """The user's base URL, names of sampling parameters and a hash of the headers; cache keys contain them.

        Servers that list the same model name may serve different models. A server on another port is another server.
        The URL is not part of the identity, so that a run can be resumed on another server with the same model.
        A parameter that the user has not set may have been omitted, although the cached request contains it.
        Headers named like secrets do not count, like the API key.
        """
        url = without_secrets(self._base).rstrip("/") if self._service.is_custom else ""
        parts = [self.limit.scope, url, *sorted(self._config.fixed), *_hash_headers(self._config.headers)]
        return " ".join(filter(None, parts))

    def least_s(self, calls: int) -> float:
        """Return the minimum number of seconds that calls take because of the user's rate limit."""
        return calls * 60 / self._config.per_minute if self._config.per_minute else 0.0

    def request(self, case: Case) -> bytes:
        """Return the request body with the initial token limit."""
        return canonical(self._body(case, self.limit.first))

    def batch_request(self, case: Case, max_tokens: int, learned: Learned) -> bytes:
        """Return the request body for a batch; see `Batching`."""
        body = canonical(self._body(case, max_tokens))
        return canonical(adjust(msgspec.json.decode(body, type=dict[str, Any]), learned)) if learned else body

    def parse(self, body: bytes, case: Case, request: bytes) -> Completion:
        """Return the outcome for a response body; see `Batching`."""
        try:
            done = self._transport.without_keys(self._parser(case)(body))
        except Failure as failure:
            self._transport.clean(failure)
            raise
        self._note_sent(request)
        return done

    @abstractmethod
    def _body(self, case: Case, max_tokens: int) -> Mapping[str, object]:
        """Return the fields of the request body for a case."""

    @abstractmethod
    async def identity(self) -> str:
        """Return a string that changes if the model changes, or an empty string if the server reports none."""

    @property
    def dated_name(self) -> str:
        """The model's name if it has a date or version, which providers never reuse for another model."""
        return "" if self._service.is_custom or not _DATED.search(self._service.remote) else self._service.remote

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()

    def _allow_concurrency(self) -> None:
        """Accept as many concurrent cases as the pacer allows; an invalid key must cost only a few calls.

        Accepting a quarter more would make short calls a seventh faster, but a crash would lose a quarter more
        responses.
        """
        if self.concurrency < self._pacer.most:
            self.concurrency = self._pacer.most
            self.make_room()

    def _all_headers(self) -> Mapping[str, str]:
        return merge_headers(self._headers(), self._config.headers)

    def _headers(self) -> Mapping[str, str]:
        key = self._service.key
        return {} if key is None else {"Authorization": f"Bearer {key.reveal()}"}

    @abstractmethod
    def _parser(self, case: Case) -> Callable[[bytes], Completion]:
        """Return the function that parses a response."""


def _header_secrets(headers: Mapping[str, str]) -> list[ApiKey]:
    """Wrap header values in `ApiKey` objects, which hide them.

    The value of a header whose name does not suggest a secret is hidden only in error messages.
    """
    return [ApiKey(value, in_messages_only=not _SECRET_HEADER.search(name)) for name, value in headers.items()]


def _hash_headers(headers: Mapping[str, str]) -> list[str]:
    """Return a hash of the headers that are not named like secrets, as a list that is empty if there are none."""
    public = {name.lower(): value for name, value in headers.items() if not _SECRET_HEADER.search(name)}
    return [f"headers:{hashlib.sha256(canonical(public)).hexdigest()[:16]}"] if public else []
