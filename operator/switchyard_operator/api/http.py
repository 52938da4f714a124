"""What may go into an HTTP request to a backend: header names and values, URLs, hosts.

A backend's request is built by the sidecar. Headers that carry the protocol, the message or the connection are its own, so
they cannot be set here; the reasons below are shown to whoever tries.
"""

import re
from collections.abc import Iterator
from ipaddress import IPv6Address
from typing import Annotated, Final
from urllib.parse import urlsplit

from pydantic import AfterValidator, WithJsonSchema
from pydantic_core import PydanticCustomError

from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Text

_CONNECTION = "it belongs to one connection and is set by the sidecar"
_MESSAGE = "it describes the message and is set by the sidecar"

RESERVED_HEADERS: Final = {
    "authorization": "use spec.auth, so that the token comes from a Secret and stays out of listings",
    "host": "use spec.hostHeader",
    "cookie": "cookies belong to a session with the backend, never to its configuration",
    "set-cookie": "it is a header of responses",
    "connection": _CONNECTION,
    "expect": _CONNECTION,
    "keep-alive": _CONNECTION,
    "te": _CONNECTION,
    "trailer": _CONNECTION,
    "transfer-encoding": _CONNECTION,
    "upgrade": _CONNECTION,
    "accept": _MESSAGE,
    "accept-encoding": _MESSAGE,
    "last-event-id": _MESSAGE,
}
"""Lower-case names of headers that ``headers`` refuses, each with what to do instead or why (RFC 9110 sections 7 to 10)."""

_RESERVED_PREFIXES: Final = {
    "mcp-": "Mcp-* headers are made from each message by the sidecar",
    "content-": _MESSAGE,
    "proxy-": _CONNECTION,
}


def _not_reserved(name: str) -> str:
    lower = name.lower()
    prefixed = (why for prefix, why in _RESERVED_PREFIXES.items() if lower.startswith(prefix))
    why = RESERVED_HEADERS.get(lower) or next(prefixed, None)
    if why:
        raise PydanticCustomError("reserved_header", "cannot be set here: {why}", {"why": why})
    return name


def _reserved_header_rules() -> Iterator[Rule]:
    """For each reason, the rule that refuses its headers."""
    for why in dict.fromkeys((*RESERVED_HEADERS.values(), *_RESERVED_PREFIXES.values())):
        names = [name for name, reason in RESERVED_HEADERS.items() if reason == why]
        prefixes = [prefix for prefix, reason in _RESERVED_PREFIXES.items() if reason == why]
        refused = [f"self.lowerAscii() in {names}"] if names else []  # a list of strings looks the same in CEL
        refused += [f"self.lowerAscii().startsWith('{prefix}')" for prefix in prefixes]
        yield Rule(f"!({' || '.join(refused)})", f"cannot be set here: {why}")


HeaderName = Annotated[
    str,
    Text(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", 128, "a header name: letters, digits and '-'"),
    AfterValidator(_not_reserved),
    *_reserved_header_rules(),
]

HeaderValue = Annotated[
    str,
    Text(r"([!-~]([ \t!-~]*[!-~])?)?", 8192, "printable ASCII on one line, without blanks at its ends"),
]


def header_value_fault(value: bytes) -> str | None:
    """Why these bytes (of a Secret) cannot be a header's value, or None. Never quotes them."""
    if not value:
        return "is empty"
    if re.fullmatch(rb"[!-~]([ \t!-~]*[!-~])?", value):
        return None
    if value.rstrip(b"\r\n") != value:
        return "ends in a line break; write it without one (`printf` or `echo -n` instead of `echo`)"
    return "must be printable ASCII on one line, without blanks at its ends"


def bearer_token_fault(value: bytes) -> str | None:
    """Why these bytes (of a Secret) cannot be a bearer token, or None (RFC 6750: visible characters, no blanks)."""
    fault = header_value_fault(value)
    if fault is None and re.search(rb"[ \t]", value):
        return "contains blanks; it must be the token alone, without 'Bearer'"
    return fault


_HOST = r"([A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])"
_PORT = r"(:[0-9]{1,5})?"
_URL_CHARACTERS = re.compile(r"([A-Za-z0-9\-._~:/?#\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{2})+")
_URL = re.compile(
    rf"[Hh][Tt][Tt][Pp][Ss]?://{_HOST}{_PORT}([/?]([A-Za-z0-9\-._~:/?\[\]@!$&'()*+,;=]|%[0-9A-Fa-f]{{2}})*)?"
)
_MAX_URL_LENGTH = 2048
_HOST_OR_PORT = "is not a well-formed URL: check host and port"


def _http_url(text: str) -> str:
    if not _URL_CHARACTERS.fullmatch(text):
        raise PydanticCustomError("url", "must be a URL in ASCII; percent-encode other characters")
    try:
        parts = urlsplit(text)
        port = parts.port
        address = IPv6Address(parts.hostname or "") if parts.netloc.startswith("[") else None
    except ValueError:
        raise PydanticCustomError("url", _HOST_OR_PORT) from None
    if "@" in parts.netloc:
        raise PydanticCustomError("url", "must not contain a user name or password; use spec.auth or spec.headers")
    if address is not None and address.ipv4_mapped is not None:
        raise PydanticCustomError("url", "must not write an IPv4 address as IPv6")
    if "#" in text:
        raise PydanticCustomError("url", "must not have a fragment: remove everything from '#'")
    if not _URL.fullmatch(text) or port == 0:
        raise PydanticCustomError("url", "must be an absolute http or https URL such as https://host.example/mcp")
    return text


HttpUrl = Annotated[
    str,
    Text(r"[^\s]+", _MAX_URL_LENGTH, "a URL without blanks"),
    AfterValidator(_http_url),
    WithJsonSchema({"type": "string", "pattern": f"^{_URL.pattern}$", "maxLength": _MAX_URL_LENGTH}),
    Rule(
        "isURL(self) && (url(self).getPort() == '' || "
        "(int(url(self).getPort()) > 0 && int(url(self).getPort()) < 65536))",
        _HOST_OR_PORT,
    ),
]
"""An absolute http or https URL, kept verbatim; never with credentials or a fragment, nor with an IPv4 address written as IPv6."""

HostHeader = Annotated[str, Text(rf"{_HOST}{_PORT}", 261, "a host name, optionally with a port")]

HostName = Annotated[str, Text(_HOST, 253, "a host name, without a port")]

HostPattern = Annotated[str, Text(rf"(\*|{_HOST}{_PORT})", 261, "'*' or a host name, optionally with a port")]

OriginPattern = Annotated[
    str,
    Text(rf"(\*|https?://{_HOST}{_PORT})", 300, "'*' or an origin such as https://app.example (no path)"),
]

UrlPath = Annotated[str, Text(r"/[A-Za-z0-9._~!$&'()*+,;=:@%/-]*", 512, "a path that begins with '/'")]
