"""Where a sidecar connects to: to Services and to its own pod, and to nothing that lends a machine its identity."""

from ipaddress import ip_network

import pytest

from switchyard_sidecar.upstream.addresses import Guard

REFUSED = (
    "169.254.169.254", "169.254.170.23", "169.254.1.1", "fe80::1", "fe80::a9fe:a9fe%eth0",
    "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254",
    "::ffff:169.254.169.254", "::ffff:a9fe:a9fe", "64:ff9b::a9fe:a9fe", "2002:a9fe:a9fe::1",
    "2001:0:4136:e378:8000:63bf:5601:5601", "::ffff:100.100.100.200", "::ffff:0:a9fe:a9fe", "::169.254.169.254",
    "localhost", "metadata.google.internal", "",
)  # fmt: skip
ADMITTED = (
    "127.0.0.1", "::1", "::ffff:127.0.0.1",
    "10.96.0.10", "172.16.3.4", "192.168.1.1", "100.64.0.1", "240.10.0.1", "93.184.216.34",
    "fd12:3456::1", "2606:2800:220:1::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "::ffff:0:a00:1",
)  # fmt: skip


@pytest.mark.parametrize("address", REFUSED)
def test_an_address_that_lends_the_machine_its_identity_is_refused(address: str) -> None:
    """Link-local and metadata services, in whatever way they are written; and what is no address."""
    assert not Guard().admits(address)


@pytest.mark.parametrize("address", ADMITTED)
def test_an_address_of_the_pod_a_service_or_the_internet_is_admitted(address: str) -> None:
    """Servers beside the agent are on loopback; Services have private addresses, of whichever range a cluster uses."""
    assert Guard().admits(address)


def test_what_the_gateway_allows_is_admitted_and_nothing_beside_it() -> None:
    """However the address is written."""
    guard = Guard((ip_network("169.254.10.0/24"), ip_network("fd00:ec2::23/128")))
    for address in ("169.254.10.1", "::ffff:169.254.10.1", "fd00:ec2::23", "10.0.0.1"):
        assert guard.admits(address), address
    for address in ("169.254.11.1", "169.254.169.254", "fd00:ec2::254", "fe80::1"):
        assert not guard.admits(address), address
