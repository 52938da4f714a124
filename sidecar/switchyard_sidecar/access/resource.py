"""What a gateway says of itself to clients that look for a token: metadata, and the challenge that leads there. Pure.

Sources: RFC 9728 (metadata: section 2; where it is: 3.1; the challenge: 5.1), RFC 6750 (section 3), RFC 9110 (section 11.6.1);
MCP 2026-07-28 ``basic/authorization``, which asks for both the well-known path of the resource and the one at the root.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

import msgspec

from switchyard_sidecar.access.refusals import Denied
from switchyard_sidecar.config.model import Authentication

WELL_KNOWN: Final = "/.well-known/oauth-protected-resource"
MAX_AGE_S: Final = 300
"""How long clients may keep the metadata; only a change of config alters it."""


@dataclass(frozen=True, slots=True)
class Resource:
    """The gateway as a protected resource."""

    name: str
    """For people."""
    path: str
    """Of the MCP endpoint, without a slash at its end; empty at the root."""
    public_url: str | None
    """What clients reach it by, if that is known; otherwise it is what a request's Host says."""
    authorization_servers: tuple[str, ...]
    scopes: tuple[str, ...]
    """All that any issuer's tokens must have."""

    @classmethod
    def of(cls, name: str, path: str, public_url: str | None, authentication: Authentication) -> "Resource":
        """Compile what the config says."""
        scopes = dict.fromkeys(scope for each in authentication.issuers for scope in each.required_scopes)
        return cls(name, path.rstrip("/"), public_url, authentication.authorization_servers, tuple(scopes))

    @property
    def paths(self) -> frozenset[str]:
        """Where the metadata is asked for: beside the endpoint's path as it is here, and as clients know it, and at the root."""
        public = urlsplit(self.public_url).path.rstrip("/") if self.public_url else self.path
        return frozenset(WELL_KNOWN + path + slash for path in ("", self.path, public) for slash in ("", "/"))

    def metadata(self, host: str) -> bytes:
        """The metadata as JSON. ``host``: the request's, which must have been checked."""
        content: dict[str, object] = {"resource": self._url(host), "resource_name": self.name}
        if self.authorization_servers:
            content["authorization_servers"] = self.authorization_servers
        content["bearer_methods_supported"] = ["header"]
        if self.scopes:
            content["scopes_supported"] = self.scopes
        return msgspec.json.encode(content)

    def challenge(self, denied: Denied, host: str) -> str:
        """The value of ``WWW-Authenticate`` that goes with a refusal. Without a token there is no error in it."""
        parts = []
        if denied.error is not None:
            parts += [("error", denied.error), ("error_description", denied.message)]
        if scopes := denied.scopes or self.scopes:
            parts.append(("scope", " ".join(scopes)))
        parts.append(("resource_metadata", self._metadata_url(host)))
        return "Bearer " + ", ".join(_quoted(parts))

    def _url(self, host: str) -> str:
        return self.public_url or f"http://{host}{self.path}"

    def _metadata_url(self, host: str) -> str:
        url = urlsplit(self._url(host))
        return f"{url.scheme}://{url.netloc}{WELL_KNOWN}{url.path.rstrip('/')}"


def _quoted(parts: Iterable[tuple[str, str]]) -> Iterable[str]:
    for name, value in parts:
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        yield f'{name}="{escaped}"'
