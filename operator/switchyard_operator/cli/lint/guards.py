"""What is worth a second look in who is let in, who sees what, and to whom callers' tokens go. Pure.

Whether a rule's patterns match a tool cannot be known here: tools are known to servers alone.
"""

from collections.abc import Iterator

from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.gateway import MCPGateway
from switchyard_operator.api.gateway_auth import GatewayAuth
from switchyard_operator.api.gateway_visibility import Visibility
from switchyard_operator.cli.lint.advice import Advice, Subject, is_public_http, note, warning
from switchyard_operator.compile.members import members
from switchyard_operator.compile.objects import Objects


def guards(objects: Objects) -> Iterator[Advice]:
    """All advice about these gateways."""
    for gateway in objects.gateways.values():
        if gateway.spec.auth is not None:
            yield from _auth(gateway, gateway.spec.auth)
        if gateway.spec.visibility is not None:
            yield from _visibility(gateway, gateway.spec.visibility)
        yield from _forwarding(gateway, objects)


def _auth(gateway: MCPGateway, auth: GatewayAuth) -> Iterator[Advice]:
    spec, public_url = gateway.spec, gateway.spec.listener.public_url
    for index, issuer in enumerate(auth.jwt):
        if issuer.jwks_url is not None and is_public_http(issuer.jwks_url):
            message = (
                "whoever is on the way to these keys can put in his own, and make tokens that are accepted: use https"
            )
            yield warning(gateway, ("spec", "auth", "jwt", index, "jwksURL"), Subject.KEYS_IN_CLEAR, message)
        if public_url is not None and public_url.rstrip("/") not in {each.rstrip("/") for each in issuer.audiences}:
            message = f"clients ask for tokens for {public_url} (RFC 8707), which is none of these audiences"
            yield note(gateway, ("spec", "auth", "jwt", index, "audiences"), Subject.OTHER_AUDIENCE, message)
    if auth.jwt and public_url is None and spec.mode == "Deployment":
        message = (
            "clients learn for which URL to get a token from what they call the host: say it with listener.publicURL"
        )
        yield warning(gateway, ("spec", "auth", "jwt"), Subject.NO_PUBLIC_URL, message)
    if auth.kubernetes is not None and spec.visibility is None:
        message = (
            "lets every service account of the cluster in, since each may get a token for any audience: "
            "say with visibility what which namespaces see (/kubernetes.io/namespace)"
        )
        yield note(gateway, ("spec", "auth", "kubernetes"), Subject.EVERY_SERVICE_ACCOUNT, message)
    if auth.tokens:
        message = "these tokens do not expire by themselves: use jwt or kubernetes where clients can get others"
        yield note(gateway, ("spec", "auth", "tokens"), Subject.STATIC_TOKENS, message)


def _visibility(gateway: MCPGateway, visibility: Visibility) -> Iterator[Advice]:
    if gateway.spec.auth is None:
        message = "without auth everyone is anonymous, and all see the same"
        yield warning(gateway, ("spec", "visibility"), Subject.ANONYMOUS_CALLERS, message)
    elif visibility.default == "Allow":
        message = "whoever meets no rule, such as a caller whose token lacks a claim, sees all tools: Deny shows none"
        yield warning(gateway, ("spec", "visibility", "default"), Subject.ALLOWED_BY_DEFAULT, message)
    for index, rule in enumerate(visibility.rules_):
        for above, earlier in enumerate(visibility.rules_[:index]):
            if all(each in rule.when for each in earlier.when):
                message = f"is never asked: rules[{above}] holds for all callers for whom this one does"
                yield warning(gateway, ("spec", "visibility", "rules", index), Subject.UNREACHABLE_RULE, message)
                break


def _forwarding(gateway: MCPGateway, objects: Objects) -> Iterator[Advice]:
    auth = gateway.spec.auth
    for member in members(gateway, objects)[0]:
        backend: MCPBackend | None = objects.backends.get(member.key)
        if backend is None or backend.spec.auth.type != "Forward":
            continue
        if auth is None:
            message = (
                f"passes callers' tokens on to {member.key} unread, whoever they were made for, which MCP forbids (token "
                "passthrough): add spec.auth, and audiences to the backend"
            )
            yield warning(gateway, member.field, Subject.TOKEN_PASSTHROUGH, message)
        elif backend.spec.auth.audiences and not auth.jwt and auth.kubernetes is None:
            message = f"{member.key} is never asked: it wants callers' tokens, and single tokens have no audience"
            yield warning(gateway, member.field, Subject.NEVER_FORWARDED, message)
