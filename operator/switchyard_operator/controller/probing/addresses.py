"""Which addresses the operator connects to when it probes a backend.

Whoever may create an MCPBackend decides where the operator connects to: without a guard, to places that only it can reach (server-side
request forgery, CWE-918). Private addresses are what Services have and must be allowed; what is refused has no MCP server
that anybody else could use. What only a sidecar may reach, its own pod, is refused too.
"""

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network
from typing import Final

from switchyard_sidecar.upstream.addresses import Address, is_of_the_machine, meant

_THIS_NETWORK: Final = IPv4Network("0.0.0.0/8")
"""Means the machine itself to some systems (RFC 6890)."""
_BROADCAST: Final = IPv4Address("255.255.255.255")
"""Of what is reserved beside, pods of some clusters have addresses (240.0.0.0/4)."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses loopback, link-local, unspecified, multicast and broadcast addresses, metadata services, and those in ``forbidden``."""

    forbidden: Collection[Address] = ()
    """The API server's."""

    def admits(self, numeric: str) -> bool:
        """Whether an address, as sockets are given it, may be connected to."""
        if (address := meant(numeric)) is None:
            return False
        return not (
            is_of_the_machine(address)
            or address.is_loopback
            or address.is_unspecified
            or (isinstance(address, IPv4Address) and address in _THIS_NETWORK)
            or address.is_multicast
            or address == _BROADCAST
            or address in self.forbidden
        )
