"""A warm ``tools/list`` by callers with signed tokens, under rules of who sees what, beside one that asks nobody for anything."""

from dataclasses import replace
from typing import Any, Final

from bench.backend import Spec
from bench.load import Target, compare
from bench.messages import Reply, Request, ask, request
from bench.servers import Lab, backends, eventually, sidecar
from bench.table import Table
from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set

TOOLS: Final = (10, 9, 9)
CLIENTS: Final = (1, 16, 64)
CALLERS: Final = (1, 100, 1_000)
TEAMS: Final = 3
"""As many rules, one after another, each of which shows everything: a caller of the last team is decided by the last."""
ISSUER: Final = "https://issuer.example"
LASTS_S: Final = 3600.0


def run(lab: Lab) -> Table:
    """Measure. Callers' answers are as long as those of the open gateway, so that what differs is who may have them."""
    key, what = SigningKey.make("bench"), request("modern", "tools/list")
    tokens = [
        key.sign(good_claims(ISSUER, f"caller-{number}", LASTS_S, team=f"team-{number % TEAMS}"))
        for number in range(max(CALLERS))
    ]
    with (
        backends([Spec(tools=count) for count in TOOLS]) as behind,
        sidecar(lab, behind.hello["urls"]) as open_,
        sidecar(lab, behind.hello["urls"], **guarded(key)) as gateway,
    ):
        open_.wait_for(sum(TOOLS))
        eventually(
            lambda: listed(gateway.url, what, tokens[0]) == sum(TOOLS), "the guarded sidecar lists too few tools"
        )
        targets = {"open": Target(open_.url, what, open_.process, ask(open_.url, what))}
        for count in CALLERS[:1] if lab.quick else CALLERS:
            right = by(gateway.url, what, tokens[count - 1])
            name = "1 caller" if count == 1 else f"{count:,} callers"
            targets[name] = Target(gateway.url, what, gateway.process, right, tokens[:count])
        table = Table(f"Warm tools/list with tokens and {TEAMS} rules: {sum(TOOLS)} tools, server on one core")
        for clients in CLIENTS[-1:] if lab.quick else CLIENTS:
            compare(lab, table, targets, clients, of="open")
    return table


def guarded(key: SigningKey) -> dict[str, Any]:
    """Only callers with this issuer's tokens, each by the rule of its team."""
    rules = [
        {"when": [{"claim": "team", "anyOf": [f"team-{number}"]}], "tools": {"include": ["*"]}}
        for number in range(TEAMS)
    ]
    issuer = {"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": key_set([key])}
    return {"authentication": {"issuers": [issuer]}, "visibility": {"rules": rules}}


def by(url: str, what: Request, token: str) -> Reply:
    """What the caller with this token is answered."""
    return ask(url, replace(what, headers={**what.headers, "Authorization": f"Bearer {token}"}))


def listed(url: str, what: Request, token: str) -> int:
    """How many tools that caller sees."""
    return len(by(url, what, token).result["tools"])
