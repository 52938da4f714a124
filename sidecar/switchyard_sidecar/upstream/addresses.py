"""Which addresses a sidecar connects to. Pure.

Whoever may create a backend, or is a backend that answers with a redirect or a name server, decides where the sidecar connects to
(server-side request forgery, CWE-918). Private addresses are what Services have, and loopback is where an agent's own pod has servers
beside it: both are what a sidecar is for. What is refused are the places where a machine is told about itself, its cloud
credentials among it: no MCP server is there, and whoever answers there asks no questions.
"""

from collections.abc import Collection
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final, TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address
Network: TypeAlias = IPv4Network | IPv6Network

_METADATA: Final[tuple[Network, ...]] = tuple(
    map(
        ip_network,
        (
            "100.100.100.200/32",  # Alibaba Cloud
            "168.63.129.16/32",  # Azure, WireServer
            "192.0.0.192/32",  # Oracle Cloud
            "fd00:ec2::/32",  # AWS: metadata, and credentials of pods
            "fd20:ce::254/128",  # Google Cloud
        ),
    )
)
"""Where clouds tell a machine about itself, apart from the usual link-local 169.254.169.254."""
_EMBEDDING: Final = tuple(map(IPv6Network, ("64:ff9b::/96", "::ffff:0:0:0/96", "::/96")))
"""IPv6 addresses that stand for the IPv4 address in their last 32 bits: of translators (RFC 6052; RFC 2765, section 2.1), and
IPv4-compatible ones, which are deprecated (RFC 4291, section 2.5.5.1)."""


@dataclass(frozen=True, slots=True)
class Guard:
    """Refuses link-local addresses and metadata services, unless they are in ``allowed``."""

    allowed: Collection[Network] = ()

    def admits(self, numeric: str) -> bool:
        """Whether an address, as sockets are given it, may be connected to."""
        if (address := meant(numeric)) is None:
            return False
        return not is_of_the_machine(address) or any(address in network for network in self.allowed)


def is_of_the_machine(address: Address) -> bool:
    """Whether what is there is told, or lent, to this machine alone."""
    return address.is_link_local or any(address in network for network in _METADATA)


def meant(numeric: str) -> Address | None:
    """The address that is meant; ``None`` for what is no address.

    An IPv6 address may stand for an IPv4 one (RFC 2765, 3056, 4291, 4380, 6052), which is then meant.
    """
    try:
        address = ip_address(numeric.partition("%")[0])
    except ValueError:
        return None
    if isinstance(address, IPv4Address):
        return address
    if not (address.is_loopback or address.is_unspecified) and any(address in each for each in _EMBEDDING):
        return IPv4Address(address.packed[-4:])
    return address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None) or address


STRICT: Final = Guard()
"""With nothing allowed."""
