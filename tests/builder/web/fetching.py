"""What the tests of fetching share: a fetcher that may ask this machine, quickly, under any name."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from pathlib import Path

from aiohttp.abc import AbstractResolver, ResolveResult

from ragbed.builder.web.client import AddressFilter, FetchLimits
from ragbed.builder.web.fetch import Fetched, Fetcher
from ragbed.builder.web.page_cache import PageCache

QUICK = FetchLimits(per_host_s=0, connect_s=10, idle_s=10, total_s=30, max_bytes=1 << 20, tries=2)
HTML = b"<!doctype html><title>News</title><p>Heavy rain is expected on Friday."


class Names(AbstractResolver):
    """A resolver that knows names as it is told, one address after another; the last one repeats."""

    def __init__(self, **addresses: str | list[str]) -> None:
        self.left = {
            name.replace("_", "."): [told] if isinstance(told, str) else told for name, told in addresses.items()
        }

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        if host not in self.left:
            raise OSError(f"{host} is not known")
        addresses = self.left[host]
        told = addresses.pop(0) if len(addresses) > 1 else addresses[0]
        kind = socket.AF_INET6 if ":" in told else socket.AF_INET
        return [ResolveResult(hostname=host, host=told, port=port, family=kind, proto=0, flags=socket.AI_NUMERICHOST)]

    async def close(self) -> None:
        pass


def fetch(
    folder: Path,
    *urls: str,
    manners: FetchLimits = QUICK,
    gate: AddressFilter | None = None,
    names: Names | None = None,
    clock: Callable[[], float] = lambda: 0.0,
) -> list[Fetched]:
    """Fetches one after another with one fetcher."""

    async def run() -> list[Fetched]:
        with PageCache(folder / "kept.db") as keep:
            async with Fetcher(
                keep, manners, gate=gate or AddressFilter(loopback=True), resolver=names, clock=clock
            ) as fetcher:
                return [await fetcher.fetch(url) for url in urls]

    return asyncio.run(run())
