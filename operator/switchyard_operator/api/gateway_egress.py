"""Where the sidecar connects to although it would not by itself."""

from ipaddress import ip_network
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Text

_NO_NETWORK = "must be a network in CIDR notation, without bits behind its prefix, such as 169.254.10.0/24"


def _network(text: str) -> str:
    try:
        network = ip_network(text)
    except ValueError:
        raise PydanticCustomError("network", _NO_NETWORK) from None
    if network.version == 6 and network.network_address.ipv4_mapped is not None:
        raise PydanticCustomError("network", _NO_NETWORK)
    return text


Network = Annotated[
    str,
    Text(r"[0-9A-Fa-f:.]+/[0-9]{1,3}", 43, "a network such as 169.254.10.0/24"),
    AfterValidator(_network),
    Rule("isCIDR(self) && cidr(self).masked() == cidr(self)", _NO_NETWORK),
]
"""Addresses in CIDR notation (RFC 4632, RFC 4291); an IPv4 network is never written as IPv6."""


class Egress(ApiModel):
    """Where backends, and the key sets of `auth`, may be.

    Link-local addresses and the metadata services of clouds are not connected to, however a URL or a name leads there: whoever may name a
    backend could otherwise read a machine's credentials.
    """

    allowed_addresses: Annotated[tuple[Network, ...], Field(max_length=32)] = ()
    """Networks in CIDR notation that are connected to all the same, such as `169.254.10.0/24`. Default: none. At most 32, of at most 43
    characters."""
