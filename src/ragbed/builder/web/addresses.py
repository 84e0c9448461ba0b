"""Which addresses may be connected to: public ones, at the web's ports, checked when the socket is made.

A name is looked up by one part of a program and connected to by another, and between the two it may change its
meaning (DNS rebinding). So the check stands where the socket to one address is made: whatever name, redirect or
spelling of a number led there, no other address can be connected to.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeAlias

AddrInfo: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]
"""As `socket.getaddrinfo` gives it."""

_WEB_PORTS = frozenset({80, 443})
_NAT64 = ip_network("64:ff9b::/96")
"""Networks without IPv4 reach it through these addresses: the IPv4 address in the last 32 bits decides."""
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            # Python calls some of these global, or did so before 3.11.10; all are from IANA's special-purpose lists.
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # 6to4 relays, given up
            "::/96",  # IPv4 addresses in an old spelling
            "64:ff9b:1::/48",  # NAT64 inside a network
            "100::/64",  # thrown away
            "2001::/23",  # protocol assignments, Teredo included
            "2002::/16",  # 6to4: hides an IPv4 address
            "3fff::/20",  # documentation
            "5f00::/16",  # segment routing
            "fec0::/10",  # site-local, given up
        ),
    )
)


class ForbiddenAddress(OSError):
    """An address that must not be connected to."""

    def __init__(self) -> None:
        # The same words for every address, since errors of several addresses are merged by their words.
        super().__init__(errno.EACCES, "it leads to an address that is not public, or to another port than 80 and 443")


@dataclass(frozen=True)
class AddressFilter:
    """Lets connections out, or not."""

    loopback: bool = False
    """Lets connections to this machine through, at any port: for a server that the program itself started."""

    def open_socket(self, info: AddrInfo) -> socket.socket:
        """A socket for one address, or Forbidden; what aiohttp calls before it connects."""
        family, kind, protocol, _, place = info
        if not self.lets_through(ip_address(place[0]), place[1]):
            raise ForbiddenAddress
        return socket.socket(family, kind, protocol)

    def lets_through(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        """Whether a connection may be made."""
        if self.loopback and address.is_loopback:
            return True
        return port in _WEB_PORTS and is_public(address)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Whether an address is one of the open Internet and of one machine."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and not address.is_multicast and not any(address in net for net in _NOT_PUBLIC)
