"""Official SDK clients with bearer tokens: each caller is shown its own view, and who is not let in learns that, not an empty list."""

import re
import urllib.request
from collections.abc import Iterator
from typing import Final

import pytest

from fakes.issuer import SigningKey, good_claims, key_set
from integration.matrix.asking import tools_of
from integration.matrix.gateways import Gateway, manifests, running, until
from integration.matrix.programs import PATIENCE_S, CallFailedError, Connection, Counterparts
from integration.matrix.table import SERVERS, Client

ISSUER: Final = "https://login.example"
KEY: Final = SigningKey.make("first")
BACKENDS: Final = {server.name: server for server in SERVERS if server.name in ("python-2", "python-1")}
"""One of either era."""
VISIBILITY: Final = {
    "default": "Deny",
    "rules": [
        {"when": [{"claim": "groups", "anyOf": ["sre"]}], "tools": {"include": ["*__echo", "*__add"]}},
        {
            "when": [{"claim": "scope", "anyOf": ["mcp:read"]}],
            "tools": {"include": ["*__echo"], "exclude": ["python-1__*"]},
        },
    ],
}
DAY_S: Final = 24 * 3600.0
"""More than all tests take together: these tokens are made when this file is read."""
CALLERS: Final = {
    "sre": KEY.sign(good_claims(ISSUER, "alice", DAY_S, groups=["staff", "sre"])),
    "reader": KEY.sign(good_claims(ISSUER, "bob", DAY_S, scope="openid mcp:read")),
    "nobody": KEY.sign(good_claims(ISSUER, "carol", DAY_S)),
}
VIEWS: Final = {
    "sre": {"python-1__add", "python-1__echo", "python-2__add", "python-2__echo"},
    "reader": {"python-2__echo"},
    "nobody": set[str](),
}
REFUSED: Final = {
    "none": None,
    "expired": KEY.sign(good_claims(ISSUER, lasts_s=-3600)),
    "for another audience": KEY.sign(good_claims(ISSUER, lasts_s=DAY_S, aud="https://other.example")),
    "of another issuer": KEY.sign(good_claims("https://other.example", lasts_s=DAY_S)),
    "signed by a stranger": SigningKey.make("first").sign(good_claims(ISSUER, lasts_s=DAY_S)),
    "no JSON Web Token": "s3cret",
}


@pytest.fixture(scope="module")
def guarded(counterparts: Counterparts, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that lets in callers of one issuer and shows each what the rules say; it has read both lists."""
    manifest = tmp_path_factory.mktemp("guarded") / "gateway.yaml"
    backends = {name: {"url": counterparts.server(server.program)} for name, server in BACKENDS.items()}
    issuer = {"issuer": ISSUER, "audiences": ["https://gateway.example/mcp"], "jwks": key_set([KEY])}
    manifest.write_text(manifests(backends, auth={"jwt": [issuer]}, visibility=VISIBILITY))
    with running(manifest, manifest.with_suffix(".log")) as gateway:
        until(lambda: all(each["tools"] is not None for each in gateway.status()["backends"].values()))
        yield gateway


@pytest.mark.parametrize("caller", CALLERS)
def test_a_client_sees_the_tools_of_its_callers_view_and_no_others(
    client: Client, caller: str, counterparts: Counterparts, guarded: Gateway
) -> None:
    """In both eras: the list is the view, what is in it can be called, and what is not is unknown."""
    with counterparts.client(client.program).connected(guarded.url, CALLERS[caller]) as connection:
        assert connection.info["version"] == client.version
        listed = tools_of(connection)
        assert set(listed) == VIEWS[caller]
        for name in ("python-1__echo", "python-2__echo"):
            if name in listed:
                assert connection.client.call(name, text=caller)["content"] == [{"type": "text", "text": caller}]
            else:
                assert _refusal(connection, name, text=caller) == -32602
        assert _refusal(connection, "python-2__fail", reason="it is not shown") == -32602


@pytest.mark.parametrize("token", REFUSED)
def test_a_client_that_is_not_let_in_reports_a_failure(
    client: Client, token: str, counterparts: Counterparts, guarded: Gateway
) -> None:
    """Nobody takes it for an empty list; each SDK has its own words for 401, and the gateway counts who was refused, and why."""
    before = _denied(guarded)
    program = counterparts.client(client.program)
    with pytest.raises(CallFailedError), program.connected(guarded.url, REFUSED[token]) as connection:
        connection.client.ask("list")
    new = {reason for reason, count in _denied(guarded).items() if count > before.get(reason, 0)}
    assert new == {"invalid_token" if REFUSED[token] else "no_token"}


def _denied(gateway: Gateway) -> dict[str, float]:
    """How many requests were refused so far, by reason."""
    with urllib.request.urlopen(f"{gateway.admin}/metrics", timeout=PATIENCE_S) as response:
        counted = re.findall(r'switchyard_requests_denied_total\{reason="(\w+)"\} (\S+)', response.read().decode())
    return {reason: float(count) for reason, count in counted}


def _refusal(connection: Connection, name: str, **arguments: str) -> int:
    with pytest.raises(CallFailedError) as failed:
        connection.client.call(name, **arguments)
    return int(failed.value.error["code"])
