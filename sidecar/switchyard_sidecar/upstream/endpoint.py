"""Where one backend is, and what every request to it carries.

Requests are made from nothing but the backend's own configuration: no header of a caller is ever copied. The one thing of a
caller's that may go to a backend, and only to one that asks for it, is its token.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field

from yarl import URL

from switchyard_sidecar.config.model import AuthType, Backend, Credential
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.faults import Fault
from switchyard_sidecar.upstream.forwarded import ForwardedToken


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One backend's address, fixed headers and TLS settings."""

    url: URL
    """Used verbatim: no slash is added or taken away, no escape re-written."""
    headers: Mapping[str, str] = field(repr=False)
    """Configured headers, the credential, and ``Host`` where it is overridden. The protocol's own headers override them."""
    tls: ssl.SSLContext | bool
    """True: the system's certificates, if the URL is https."""
    server_name: str | None
    """The name sent and verified in TLS instead of the URL's host."""
    connect_s: float
    """Limit on resolving, connecting and the TLS handshake together."""
    token: ForwardedToken | None = None
    """Whose header goes with every request, instead of any that is configured."""


def address(config: Backend) -> URL:
    """The backend's URL.

    Raises:
        Fault: it is no absolute http or https URL.
    """
    try:
        url = URL(config.url, encoded=True)
        is_usable = url.scheme in {"http", "https"} and bool(url.host) and url.port is not None  # port: read only now
    except ValueError:
        is_usable = False
    if not is_usable:
        raise Fault(faults.BAD_URL)
    return url


def fixed_headers(config: Backend, credentials: Mapping[str, bytes]) -> dict[str, str]:
    """The headers of every request to this backend.

    Raises:
        Fault: a credential is missing or is no header value.
    """
    headers = {}
    for header in config.headers:
        value = _text(header.credential, credentials) if header.credential is not None else header.value
        headers[header.name] = value or ""
    if config.auth.type is AuthType.BEARER and config.auth.credential is not None:
        headers["Authorization"] = f"Bearer {_text(config.auth.credential, credentials)}"
    if config.host_header is not None:
        headers["Host"] = config.host_header
    return headers


def _text(credential: Credential, credentials: Mapping[str, bytes]) -> str:
    """A secret as a header value. The line end that editors and ``echo`` put into secrets is not part of it."""
    try:
        text = credentials[credential.file].decode().strip()
    except (KeyError, UnicodeDecodeError):
        raise Fault(faults.BAD_CREDENTIAL) from None
    if not text or any(ord(character) < 0x20 or ord(character) == 0x7F for character in text):
        raise Fault(faults.BAD_CREDENTIAL)
    return text
