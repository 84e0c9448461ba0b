"""What all models behind a server have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from yarl import URL

from ragbed.errors import UsageError
from ragbed.models.base import Sampling
from ragbed.models.providers.connect import proxy_for, valid_url
from ragbed.models.providers.pacing import Pacer
from ragbed.models.providers.transport import Transport
from ragbed.models.retry_policy import RetryPolicy
from ragbed.models.secrets import ApiKey, shown
from ragbed.schema import Case, Completion


@dataclass(frozen=True)
class ServiceConfig:
    """Where and how a model is served."""

    name: str
    """The model string."""
    remote: str
    """The name that the server knows the model by."""
    urls: Sequence[str]
    """Base addresses; work goes to whichever is free."""
    key: ApiKey | None
    sampling: Sampling
    pace: Pacer
    patience: RetryPolicy
    checks: str = "the key"
    """What a user should look at first when nothing works."""
    environ: Mapping[str, str] = field(default_factory=dict, repr=False)
    """Where proxies are named; keys stand there too, so it is never shown."""


class HttpModel(ABC):
    """A model that is asked over HTTP; what is sent and how replies read is up to its kind."""

    path: str
    """Of the method, below the base address."""

    def __init__(self, service: ServiceConfig) -> None:
        self.name, self.concurrency = service.name, 1
        self._service = service
        self._bases = [_read_url(url) for url in service.urls]
        addresses = ", ".join(shown(url) for url in self._bases)
        self.advice = f"Check {service.checks}, the model's name ({service.remote}) and the address ({addresses})."
        keys = [] if service.key is None else [service.key]
        ways = {below(url, self.path): proxy_for(url, service.environ) for url in self._bases}
        self._transport = Transport(ways, self._headers, keys, service.pace, service.patience, self._open)

    async def complete(self, case: Case, repeat: int = 0) -> Completion:  # noqa: ARG002  # servers have their own dice
        """Asks the server, again where that may help."""
        return await self.complete_request(self.request(case), case)

    async def complete_request(self, request: bytes, case: Case) -> Completion:
        """See `Posting`."""
        return await self._transport.ask(request, self._reader(case))

    @abstractmethod
    def request(self, case: Case) -> bytes:
        """The body as it is sent."""

    @abstractmethod
    async def identity(self) -> str:
        """What the server says of the model."""

    async def close(self) -> None:
        """Closes the connections."""
        await self._transport.close()

    @property
    def parked(self) -> int:
        """Cases that wait because the server asked for it."""
        return self._transport.parked

    @property
    def make_room(self) -> Callable[[], object]:
        """Called when a case is set aside."""
        return self._transport.make_room

    @make_room.setter
    def make_room(self, call: Callable[[], object]) -> None:
        self._transport.make_room = call

    def _open(self) -> None:
        """The server can be asked, so as many go in as the pace lets.

        Not more: if a quarter more stood ready while others are written to the disk, short calls would be a seventh
        faster, and a crash would lose a quarter more replies.
        """
        self.concurrency = self._service.pace.most
        self.make_room()

    @abstractmethod
    def _headers(self) -> Mapping[str, str]: ...

    @abstractmethod
    def _reader(self, case: Case) -> Callable[[bytes], Completion]:
        """How a reply to a case reads."""


def below(base: URL, path: str) -> URL:
    """An address below a base; what the base has behind a question mark stays (`?api-version=…`)."""
    return base.with_path(f"{base.path.rstrip('/')}/{path}", keep_query=True) if path else base


def _read_url(text: str) -> URL:
    url = valid_url(text)
    if url is None or url.scheme not in ("http", "https"):
        # Not shown as it is: a password may stand in it.
        raise UsageError("a base URL is not valid; write it as http://host:8000/v1.")
    return url
