"""What must not be connected to is not, whatever leads there; the listening server is the witness."""

from __future__ import annotations

from ipaddress import ip_address
from pathlib import Path

import pytest

from ragbed.builder.web.client import AddressFilter, ForbiddenAddress, is_public
from tests.builder.web.fetching import HTML, Names, fetch
from tests.servers.faulty_site import FaultServer, page, redirect

PUBLIC = ["1.1.1.1", "8.8.8.8", "93.184.216.34", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
NOT_PUBLIC = [
    *("0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.254"),
    *("127.0.0.1", "127.255.255.254", "169.254.0.1", "169.254.169.254", "172.16.0.1", "172.31.255.255"),
    *("192.0.0.1", "192.0.0.8", "192.0.0.170", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1"),
    *("198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"),
    *("::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254"),
    *("64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "64:ff9b:1::1", "100::1", "2001::1", "2001:2::1", "2001:10::1"),
    *("2001:20::1", "2001:db8::1", "2002:7f00:1::", "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1"),
    *("fd00:ec2::254", "fe80::1", "fe80::1%1", "fec0::1", "ff02::1", "ff0e::1"),
]


@pytest.mark.parametrize("address", PUBLIC)
def test_public_addresses_are_let_through_at_the_ports_of_the_web(address: str) -> None:
    gate = AddressFilter()
    assert is_public(ip_address(address))
    assert [port for port in (22, 25, 80, 443, 6379, 8080) if gate.lets_through(ip_address(address), port)] == [80, 443]


@pytest.mark.parametrize("address", NOT_PUBLIC)
def test_other_addresses_are_not(address: str) -> None:
    assert not is_public(ip_address(address))
    family = 10 if ":" in address else 2
    with pytest.raises(ForbiddenAddress, match="not public"):
        AddressFilter().open_socket((family, 1, 6, "", (address, 80)))


@pytest.mark.parametrize("address", ["10.0.0.1", "169.254.169.254", "fe80::1", "0.0.0.0"])
def test_a_gate_that_is_open_to_this_machine_is_open_to_no_other(address: str) -> None:
    assert not AddressFilter(loopback=True).lets_through(ip_address(address), 80)


SPELLINGS = [
    *("127.0.0.1", "127.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1."),
    *("[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[64:ff9b::7f00:1]", "[::127.0.0.1]", "0", "0.0.0.0"),
    *("localhost", "LOCALHOST", "localhost.", "１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①"),
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_of_this_machine_reaches_it(server: FaultServer, tmp_path: Path, host: str) -> None:
    (found,) = fetch(tmp_path, f"http://{host}:{server.server_port}/news", gate=AddressFilter())
    assert found.outcome in ("private", "address", "dns")
    assert server.asked == []


def test_a_public_name_for_a_private_address_is_not_followed(server: FaultServer, tmp_path: Path) -> None:
    (found,) = fetch(
        tmp_path, f"http://evil.test:{server.server_port}/", gate=AddressFilter(), names=Names(evil_test="127.0.0.1")
    )
    assert found.outcome == "private"
    assert server.asked == []


def test_a_name_that_changes_its_meaning_is_checked_at_every_connection(server: FaultServer, tmp_path: Path) -> None:
    """Rebinding: the first look-up gives an address that may be asked, the next one what is aimed at."""
    server.scripts = {"robots.txt": [page(b"", "text/plain", Connection="close")], "news": [page(HTML)]}
    url = f"http://evil.test:{server.server_port}/news"
    (found,) = fetch(tmp_path, url, names=Names(evil_test=["127.0.0.1", "10.0.0.1"]))
    assert found.outcome == "private"
    assert [name for name, _ in server.asked] == ["robots.txt"]


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/meta-data", "http://10.0.0.1/", "http://[fd00::1]/"])
def test_a_redirect_to_a_private_address_is_not_followed(server: FaultServer, tmp_path: Path, target: str) -> None:
    server.scripts["news"] = [redirect(target)]
    (found,) = fetch(tmp_path, server.url("news"))
    assert found.outcome == "private"
    assert "not public" in found.reason
