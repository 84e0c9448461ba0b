"""Allow connections only to public addresses and web ports; the check is made when the socket is opened.

A name may resolve to a different address between a check and the connection (DNS rebinding). The check is therefore
made when the socket for an address is opened, regardless of the name, redirect or number format that led to it.
"""

from __future__ import annotations

import errno
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any, TypeAlias

AddrInfo: TypeAlias = tuple[int, int, int, str, tuple[Any, ...]]  # as returned by `socket.getaddrinfo`

_WEB_PORTS = frozenset({80, 443})
_NAT64 = ip_network("64:ff9b::/96")  # addresses in this range embed an IPv4 address in the last 32 bits
_NOT_PUBLIC = tuple(
    map(
        ip_network,
        (
            # Ranges from IANA's special-purpose registries. Python treats some of them as global, or did so before
            # 3.11.10.
            "192.0.0.0/24",  # protocol assignments
            "192.88.99.0/24",  # 6to4 relays, deprecated
            "::/96",  # IPv4-compatible addresses, deprecated
            "64:ff9b:1::/48",  # local NAT64
            "100::/64",  # discard-only addresses
            "2001::/23",  # protocol assignments, including Teredo
            "2002::/16",  # 6to4 addresses, which embed an IPv4 address
            "3fff::/20",  # addresses for documentation
            "5f00::/16",  # segment routing
            "fec0::/10",  # site-local addresses, deprecated
        ),
    )
)


class ForbiddenAddress(OSError):
    """Raised when a connection to a blocked address is attempted."""

    def __init__(self) -> None:
        # The message does not contain the address, so that errors for different addresses can be merged.
        super().__init__(
            errno.EACCES, "the URL leads to an address that is not public, or to a port other than 80 and 443"
        )


@dataclass(frozen=True)
class AddressFilter:
    """A filter that decides which connections are allowed.

    Args:
        loopback: Whether to also allow connections to this machine on any port, for a server started by the program.
    """

    loopback: bool = False

    def open_socket(self, info: AddrInfo) -> socket.socket:
        """Open a socket for an address, or raise `ForbiddenAddress`; aiohttp calls this before it connects."""
        family, kind, protocol, _, place = info
        if not self.lets_through(ip_address(place[0]), place[1]):
            raise ForbiddenAddress
        return socket.socket(family, kind, protocol)

    def lets_through(self, address: IPv4Address | IPv6Address, port: int) -> bool:
        """Check whether a connection is allowed."""
        if self.loopback and address.is_loopback:
            return True
        return port in _WEB_PORTS and is_public(address)


def is_public(address: IPv4Address | IPv6Address) -> bool:
    """Check whether an address is a public unicast address."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return is_public(address.ipv4_mapped)
        if address in _NAT64:
            return is_public(IPv4Address(int(address) & 0xFFFF_FFFF))
    return address.is_global and not address.is_multicast and not any(address in net for net in _NOT_PUBLIC)
