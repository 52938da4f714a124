"""Who may speak to the endpoint, and in which media types: what is checked before a body is read.

DNS rebinding is answered by checking Origin and Host on the MCP path (2026-07-28 ``streamable-http``, "Security");
browsers of an allowed origin get the CORS answers they need (Fetch standard), on refusals too. Pure.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from switchyard_sidecar.config.model import Listener
from switchyard_sidecar.protocol import errors
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.names import JSON

LOOPBACK_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
EXPOSED: Final = "Mcp-Session-Id, WWW-Authenticate, Retry-After"
PREFLIGHT_AGE_S: Final = 600

_HOST: Final = re.compile(r"[ \t]*(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]*)(:[0-9]{0,5})?[ \t]*")
"""``uri-host [ ":" port ]`` (RFC 9110, section 7.2), as far as hosts are called so in practice."""
_HEADER_LIST: Final = re.compile(r"^[A-Za-z0-9!#$%&'*+.^_`|~, -]{0,4096}$")


@dataclass(frozen=True, slots=True)
class Guard:
    """The rules of one listener, compiled once for each config."""

    paths: frozenset[str]
    methods: tuple[str, ...]
    origins: frozenset[str]
    hosts: frozenset[str]

    @classmethod
    def of(cls, listener: Listener, *, path: str, legacy: bool) -> "Guard":
        """Compile a listener's rules. Both spellings of the path work; neither redirects."""
        hosts = {host.lower() for host in listener.allowed_hosts} | LOOPBACK_NAMES
        if listener.public_url and (name := urlsplit(listener.public_url).hostname):
            hosts.add(name)
        base = path.rstrip("/")
        return cls(
            paths=frozenset({base or "/", f"{base}/"}),
            methods=("POST", "GET", "DELETE", "OPTIONS") if legacy else ("POST", "OPTIONS"),
            origins=frozenset(origin.lower().rstrip("/") for origin in listener.allowed_origins),
            hosts=frozenset(hosts),
        )

    def check(self, method: str, path: str, headers: Mapping[str, str], local_address: str) -> None:
        """Refuse what must not be answered.

        Raises:
            McpError: with the HTTP status to answer: 404 (path), 400 (no Host), 403 (Host, Origin), 405 (method).
        """
        if path not in self.paths:
            raise _refusal(404, f"Nothing is served at this path; the MCP endpoint is {min(self.paths, key=len)}")
        host = _host(headers)
        named = self.check_host(headers, local_address)
        origin = headers.get("Origin")
        # Our own origin is no rebinding where the host is known by name; a host that only "*" lets pass may be rebound.
        own = named and origin is not None and origin.lower() in {f"http://{host}", f"https://{host}"}
        if origin is not None and not own and not self._allows(origin):
            raise _refusal(403, "Origin not allowed; add it to spec.listener.allowedOrigins of the gateway")
        if method not in self.methods:
            raise _refusal(405, f"Method not allowed; this endpoint has {', '.join(self.methods)}")

    def check_host(self, headers: Mapping[str, str], local_address: str) -> bool:
        """Refuse a Host that is not ours; say whether it is known by name, and not only let pass.

        Raises:
            McpError: with HTTP status 403; 400 for what is no host at all, and must not get into what we say of ourselves.
        """
        if not _HOST.fullmatch(headers.get("Host", "")):
            raise _refusal(400, "Bad request: Host is malformed")
        name = host_name(_host(headers))
        named = name in self.hosts or name == local_address
        if not named and "*" not in self.hosts:
            raise _refusal(403, "Host not allowed; add its name to spec.listener.allowedHosts of the gateway")
        return named

    def fields(self, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Response headers that let an allowed browser origin read the answer, also when it is a refusal."""
        origin = headers.get("Origin")
        if origin is None:
            return ()
        if not self._allows(origin):
            return (("Vary", "Origin"),)
        return (
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", EXPOSED),
            ("Vary", "Origin"),
        )

    def preflight(self, headers: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
        """Response headers for OPTIONS: the allowed methods, and to a browser exactly the headers it asks for."""
        return preflight(headers, self.methods, self.fields(headers))

    def _allows(self, origin: str) -> bool:
        # What is no ASCII is no origin (RFC 6454, section 6.2), and could not be written into an answer.
        return origin.isascii() and ("*" in self.origins or origin.lower() in self.origins)


def preflight(
    headers: Mapping[str, str], methods: Iterable[str], fields: Iterable[tuple[str, str]]
) -> tuple[tuple[str, str], ...]:
    """Response headers for OPTIONS beside ``fields``: the methods, and to a browser exactly the headers it asks for."""
    allowed = ", ".join(methods)
    answer = [("Allow", allowed), *fields]
    if "Origin" in headers:
        answer += [("Access-Control-Allow-Methods", allowed), ("Access-Control-Max-Age", str(PREFLIGHT_AGE_S))]
        asked = headers.get("Access-Control-Request-Headers", "")
        if asked and _HEADER_LIST.match(asked):
            answer.append(("Access-Control-Allow-Headers", asked))
    return tuple(answer)


def check_body_headers(headers: Mapping[str, str]) -> None:
    """Refuse bodies that are not plain JSON.

    Raises:
        McpError: with HTTP status 415.
    """
    media_type = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        raise _refusal(415, f"Unsupported media type; send Content-Type: {JSON}")
    if headers.get("Content-Encoding", "identity").strip().lower() not in {"identity", ""}:
        raise _refusal(415, "Unsupported content encoding; send the body unencoded")


def not_acceptable(offered: str) -> McpError:
    """The refusal of a request whose Accept header leaves nothing that could be answered."""
    return _refusal(406, f"Not acceptable; this answer is {offered}, and Accept must allow it")


def _refusal(status: int, message: str) -> McpError:
    return McpError(errors.INVALID_REQUEST, message, status=status)


def _host(headers: Mapping[str, str]) -> str:
    return headers.get("Host", "").strip().lower()


def host_name(host: str) -> str:
    """The name in a Host header in lower case, without its port; IPv6 keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0] + "]"
    return host.partition(":")[0]
