"""An OAuth authorization server as MCP clients look for one: it registers them, lets them sign in, and really checks what they prove.

Whoever comes to its page is signed in at once and agrees to everything; otherwise it is strict. Sources: RFC 8414 (metadata),
RFC 7591 (registration), RFC 6749 with RFC 7636 (the code and its proof), RFC 8707 (``resource``), RFC 9207 (``iss``); MCP
2026-07-28 ``basic/authorization`` says what of these a client must use.
"""

import base64
import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import parse_qsl, urlencode, urlsplit

from fakes import hostile
from fakes.hostile import Reply, Request
from fakes.issuer import Issuer, SigningKey

METADATA: Final = "/.well-known/oauth-authorization-server"


@dataclass(frozen=True)
class Grant:
    """What somebody has agreed to: the parameters with which a client asked for it."""

    client: str
    redirect_uri: str
    challenge: str
    resource: str
    scope: str


class AuthorizationServer(Issuer):
    """Issues access tokens to clients it has never heard of. ``withheld`` are scopes that nobody is granted."""

    def __init__(self, *keys: SigningKey) -> None:
        super().__init__(*keys)
        self.withheld: set[str] = set()
        self.grants: list[Grant] = []
        """All that was agreed to, oldest first."""
        self.complaints: list[str] = []
        """What clients did wrong."""
        self._registered: dict[str, list[str]] = {}
        """Redirect URIs by client."""
        self._codes: dict[str, Grant] = {}

    def asked(self, path: str) -> int:
        """How often something was asked for."""
        return sum(urlsplit(request.path).path == path for request in self.requests)

    def _reply(self, request: Request) -> Reply:
        url = urlsplit(request.path)
        match request.method, url.path:
            case "GET", path if path == METADATA:
                return _json(self._metadata())
            case "POST", "/register":
                return self._register(request.message)
            case "GET", "/authorize":
                return self._authorize(dict(parse_qsl(url.query)))
            case "POST", "/token":
                return self._exchange(dict(parse_qsl(request.body.decode())))
            case "GET", "/jwks":
                return super()._reply(request)
            case _:
                return hostile.body(b"", status=404)

    def _metadata(self) -> dict[str, Any]:
        return {
            "issuer": self.name,
            "authorization_endpoint": f"{self.name}/authorize",
            "token_endpoint": f"{self.name}/token",
            "registration_endpoint": f"{self.name}/register",
            "jwks_uri": self.jwks_url,
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"],
            "code_challenge_methods_supported": ["S256"],
            "authorization_response_iss_parameter_supported": True,
        }

    def _register(self, wanted: Mapping[str, Any]) -> Reply:
        client = secrets.token_urlsafe(8)
        self._registered[client] = list(wanted["redirect_uris"])
        own = {"client_id": client, "token_endpoint_auth_method": "none", "grant_types": ["authorization_code"]}
        return _json({**wanted, **own}, status=201)

    def _authorize(self, asked: Mapping[str, str]) -> Reply:
        client, back = asked.get("client_id", ""), asked.get("redirect_uri", "")
        if back not in self._registered.get(client, ()):
            return self._refuse("invalid_request", "the client has not registered this redirect URI")
        if (asked.get("response_type"), asked.get("code_challenge_method")) != ("code", "S256"):
            return self._refuse("invalid_request", "only codes, and with PKCE alone")
        if "resource" not in asked:
            return self._refuse("invalid_target", "it is not said what the token is for")
        scope = " ".join(each for each in asked.get("scope", "").split() if each not in self.withheld)
        grant = Grant(client, back, asked["code_challenge"], asked["resource"], scope)
        self.grants.append(grant)
        code = secrets.token_urlsafe(8)
        self._codes[code] = grant
        answered = {"code": code, "iss": self.name} | ({"state": asked["state"]} if "state" in asked else {})
        return hostile.body(b"", status=302, fields=[("Location", f"{back}?{urlencode(answered)}")])

    def _exchange(self, asked: Mapping[str, str]) -> Reply:
        if asked.get("grant_type") != "authorization_code":
            return self._refuse("unsupported_grant_type", "only codes")
        grant = self._codes.pop(asked.get("code", ""), None)
        proof = hashlib.sha256(asked.get("code_verifier", "").encode()).digest()
        proved = base64.urlsafe_b64encode(proof).decode().rstrip("=")
        shown = (asked.get("client_id"), asked.get("redirect_uri"), proved, asked.get("resource"))
        if grant is None or shown != (grant.client, grant.redirect_uri, grant.challenge, grant.resource):
            return self._refuse("invalid_grant", "the code is not known, or not for who shows it")
        token = self.token(aud=grant.resource, scope=grant.scope, client_id=grant.client)
        return _json({"access_token": token, "token_type": "Bearer", "expires_in": 600, "scope": grant.scope})

    def _refuse(self, error: str, why: str) -> Reply:
        self.complaints.append(why)
        return _json({"error": error, "error_description": why}, status=400)


def _json(value: Mapping[str, Any], *, status: int = 200) -> Reply:
    return hostile.body(json.dumps(value).encode(), status=status, fields=[("Cache-Control", "no-store")])
