"""Check that a build never fetches a forbidden address, no matter how the address is written."""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_network
from pathlib import Path
from typing import Any

import ragbed.__main__
from benches.torture.bounds import Command, Running, Tally
from ragbed.builder.web.client import AddressFilter
from tests.builder.web.fetching import Names, fetch
from tests.servers.faulty_site import redirect, running_server

COUNT = 300
"""Number of addresses in a list; the same number is tried as names and as redirects."""
_NETWORKS = (
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "169.254.169.254/32"),
    *("172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
    *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32"),
    *("::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    *("5f00::/16", "fc00::/7", "fd00:ec2::254/128", "fe80::/10", "fec0::/10", "ff00::/8"),
)
_PORTS = ("", "", "", ":80", ":443", ":22", ":6379", ":8080", ":0", ":65535")
_MOST_MB = 400.0
"""Maximum memory; a build's encoder alone takes 250 MB."""
_CONNECTED = "CONNECTED"
_REFUSED = frozenset({"private", "address", "dns", "redirect"})
_RECIPE = """
name = "private"
generator = "scripted/oracle"
langs = ["en"]
[wanted]
base = 1
[[sources]]
kind = "urls"
place = "urls.txt"
[ranking]
encoder = "e5-static"
"""


def hosts(draw: random.Random, networks: Sequence[str]) -> Iterator[str]:
    """Yield hosts in these networks, one after another, each in a different spelling."""
    while True:
        for name in networks:
            yield _spell(_inside(ip_network(name), draw), draw)


def _inside(network: IPv4Network | IPv6Network, draw: random.Random) -> IPv4Address | IPv6Address:
    return network[draw.randrange(network.num_addresses)]


def _spell(address: IPv4Address | IPv6Address, draw: random.Random) -> str:
    if isinstance(address, IPv6Address):
        return f"[{draw.choice((address.compressed, address.exploded, address.compressed.upper()))}]"
    number, (a, b, c, d) = int(address), address.packed
    return draw.choice(
        (
            *(f"{address}", f"{address}.", f"{number}", f"{number:#x}", f"0{number:o}", f"0X{number:X}"),
            *(f"{a}.{number & 0xFFFFFF}", f"{a}.{b}.{number & 0xFFFF}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}"),
            *(f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"{a:#x}.{b}.0{c:o}.{d}", f"[::ffff:{address}]", f"[::{address}]"),
            *(f"[::ffff:{number >> 16:x}:{number & 0xFFFF:x}]", f"[64:ff9b::{address}]"),
            *(f"[2002:{number >> 16:x}:{number & 0xFFFF:x}::1]", _full_width(str(address))),
            *(f"user:password@{address}", "".join(f"%{ord(letter):02x}" for letter in str(address))),
        )
    )


def _full_width(text: str) -> str:
    return "".join(chr(ord(letter) + 0xFEE0) if letter.isdigit() else letter for letter in text)


def urls(count: int, draw: random.Random, networks: Sequence[str]) -> list[str]:
    """Return different URLs of hosts in these networks, and a few of public hosts at non-web ports."""
    found, source = dict[str, None](), hosts(draw, networks)
    for port in (21, 22, 25, 110, 3306, 5432, 6379, 8080, 9200, 11211):
        found[f"http://93.184.216.34:{port}/"] = None
    while len(found) < count:
        found[f"{draw.choice(('http', 'https'))}://{next(source)}{draw.choice(_PORTS)}/{len(found)}"] = None
    return list(found)


def _witness(*allowed: int) -> None:
    """Report every connection attempt of this process, and allow only those to the given ports of this machine."""

    def look(event: str, details: tuple[Any, ...]) -> None:
        if event == "socket.connect" and isinstance(details[1], tuple):
            host, port, *_ = details[1]
            if (host, port) not in [("127.0.0.1", one) for one in allowed]:
                os.write(2, f"{_CONNECTED} {host} {port}\n".encode())
                raise OSError("a connection that must not be made")

    sys.addaudithook(look)


def _build() -> None:
    _witness()
    ragbed.__main__.main()


def _fetch_names(folder: Path, addresses: list[str]) -> None:
    """Fetch names that resolve to each of the addresses."""
    _witness()
    names = Names(**{f"n{number}_test": address for number, address in enumerate(addresses)})
    found = fetch(
        folder, *(f"http://n{number}.test/" for number in range(len(addresses))), gate=AddressFilter(), names=names
    )
    print(json.dumps([one.outcome for one in found]))


def _follow(folder: Path, targets: list[str]) -> None:
    """Fetch pages on this machine that redirect to each of the targets."""
    with running_server() as server:
        _witness(server.server_port)
        server.scripts = {
            str(number): [redirect(target.encode().decode("latin-1"))] for number, target in enumerate(targets)
        }
        found = fetch(folder, *(server.url(str(number)) for number in range(len(targets))))
    print(json.dumps([one.outcome for one in found]))


def torture(folder: Path, count: int, seed: int) -> bool:
    """Fetch forbidden addresses given in lists, as names and as redirects."""
    draw, tally = random.Random(seed), Tally("addresses")
    # Loopback is not a redirect target, because this machine serves the redirects.
    elsewhere = [name for name in _NETWORKS if not ip_network(name).is_loopback]
    listed, targets = urls(count, draw, _NETWORKS), urls(count, draw, elsewhere)
    plain = [str(_inside(ip_network(name), draw)) for _ in range(-(-count // len(_NETWORKS))) for name in _NETWORKS]
    (folder / "urls.txt").write_text("\n".join(listed))
    (folder / "recipe.toml").write_text(_RECIPE)
    for kind, command in (
        ("listed", Command("build", ("build", "run", "recipe.toml", "-o", "out"), folder, call=_build)),
        ("names", Command("names", (), folder, call=lambda: _fetch_names(folder, plain[:count]))),
        ("redirects", Command("redirects", (), folder, call=lambda: _follow(folder, targets))),
    ):
        ended = Running(command, limit_s=300).wait()
        connected = [line for line in ended.err.splitlines() if line.startswith(_CONNECTED)]
        outcomes = _outcomes(ended.out) if command.name != "build" else _rejects(folder)
        tally.tried[kind] += outcomes.total()
        print(f"  {kind}: {dict(outcomes)}")
        problems = [f"connected: {line}" for line in connected] + ended.problems(_MOST_MB)
        problems += [f"outcome: {name}, {number} times" for name, number in outcomes.items() if name not in _REFUSED]
        tally.add("processes", kind, problems)
    return tally.close()


def _outcomes(out: str) -> Counter[str]:
    return Counter(json.loads(out.strip().splitlines()[-1]) if out.strip() else [])


def _rejects(folder: Path) -> Counter[str]:
    lines = (folder / "out" / "steps" / "articles.rejects.jsonl").read_text("utf-8").splitlines()
    return Counter(json.loads(line)["outcome"] for line in lines)
