"""Which addresses the operator connects to when it probes a backend.

Whoever may create an MCPBackend decides where the operator connects to: without a guard, to places that only it can reach (server-side
request forgery, CWE-918). Private addresses are what Services have and must be allowed; what is refused has no MCP server
that anybody else could use.
"""

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

_METADATA: Final[frozenset[Address]] = frozenset(
    map(
        ip_address,
        (
            "100.100.100.200",  # Alibaba Cloud
            "168.63.129.16",  # Azure, WireServer
            "192.0.0.192",  # Oracle Cloud
            "fd00:ec2::254",  # AWS
            "fd20:ce::254",  # Google Cloud
        ),
    )
)
"""Where clouds tell a machine about itself, credentials among it, apart from the usual link-local 169.254.169.254."""
_THIS_NETWORK: Final = IPv4Network("0.0.0.0/8")
"""Means the machine itself to some systems (RFC 6890)."""
_NAT64: Final = IPv6Network("64:ff9b::/96")
"""IPv6 addresses that stand for the IPv4 address in their last 32 bits (RFC 6052)."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses loopback, link-local, unspecified, multicast and reserved addresses, metadata services, and those in ``forbidden``."""

    forbidden: Collection[Address] = ()
    """The API server's."""

    def admits(self, numeric: str) -> bool:
        """Whether an address, as sockets are given it, may be connected to."""
        try:
            address = _meant(ip_address(numeric.partition("%")[0]))
        except ValueError:
            return False
        return not (
            address.is_loopback
            or address.is_link_local
            or address.is_unspecified
            or (isinstance(address, IPv4Address) and address in _THIS_NETWORK)
            or address.is_multicast
            or address.is_reserved
            or address in _METADATA
            or address in self.forbidden
        )


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, where it does (RFC 4291, 3056, 4380, 6052)."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None) or address
