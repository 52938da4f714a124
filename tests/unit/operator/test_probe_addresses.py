"""Where the operator connects to when it probes: nowhere that only it could reach."""

from ipaddress import ip_address

import pytest

from switchyard_operator.controller.probing.addresses import Guard

REFUSED = (
    "127.0.0.1", "127.8.9.1", "0.0.0.0", "0.1.2.3", "::1", "::",
    "169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%eth0",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
    "224.0.0.1", "255.255.255.255", "ff02::1",
    "::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe",
    "2002:7f00:1::", "2002:a9fe:a9fe::1", "::ffff:0:7f00:1", "::127.0.0.1", "localhost", "",
)  # fmt: skip
ADMITTED = (
    "10.96.0.10", "172.16.3.4", "192.168.1.1", "100.64.0.1", "240.10.0.1", "93.184.216.34", "fd12:3456::1",
    "2606:2800:220:1::1", "::ffff:10.0.0.1", "64:ff9b::a00:1",
)  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_only_the_operator_could_reach_is_refused(address: str) -> None:
    """Loopback, link-local, metadata, unspecified, multicast and broadcast, in whatever way it is written."""
    assert not Guard().admits(address)


@pytest.mark.parametrize("address", ADMITTED)
def test_an_address_of_a_service_or_of_the_internet_is_admitted(address: str) -> None:
    """Private addresses are what Services have."""
    assert Guard().admits(address)


@pytest.mark.parametrize("address", ["10.96.0.1", "::ffff:10.96.0.1", "64:ff9b::a60:1"])
def test_the_api_servers_address_is_refused(address: str) -> None:
    """However it is written."""
    assert not Guard({ip_address("10.96.0.1")}).admits(address)


def test_an_interface_makes_no_other_address_of_it() -> None:
    """What stands behind ``%`` says by which way it is reached."""
    assert not Guard({ip_address("fd00::1")}).admits("fd00::1%eth0")
