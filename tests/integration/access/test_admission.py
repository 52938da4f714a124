"""Who is let in, and what the others are told: RFC 6750, RFC 9728, and what MCP makes of them."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

from fakes.gateway import gateway
from fakes.issuer import AUDIENCE, Issuer, SigningKey, good_claims, key_set
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools
from fakes.waiting import eventually
from integration.access.doors import challenge, guarded, static
from integration.gateway.test_express import line

WELL_KNOWN = "/.well-known/oauth-protected-resource"


async def test_good_token_opens_every_method_in_both_eras(tmp_path: Path) -> None:
    """Lists with pages, calls, discovery, sessions, and streams; the backend gets none of it."""
    async with (
        Issuer() as issuer,
        ModernBackend(*tools("a", "b", "c"), ttl_ms=0) as backend,
        guarded(tmp_path, {"x": backend}, issuer, pageSize=2) as gw,
    ):
        await gw.legacy.initialize("2025-11-25")
        for client in (gw.modern, gw.legacy):
            first = await client.list()
            assert first.names == ["a", "b"]
            assert (await client.list(first.result["nextCursor"])).names == ["c"]
            assert (await client.call("a")).text["tool"] == "a"
        assert (await gw.modern.list()).result["cacheScope"] == "private"
        assert (await gw.modern.request("server/discover")).result["cacheScope"] == "private"
        async with gw.modern.listen() as listen, gw.legacy.listen() as stream:
            backend.tools.append(tool("d"))
            await backend.notify()
            await listen.has(2)
            await stream.has(1)
        assert (await gw.legacy.delete()).status == 204
        assert backend.complaints == []
        assert {request.header("Authorization") for request in backend.requests} == {None}


@pytest.mark.parametrize("authorization", [None, "Basic YTpi", "Bearer", "Bearer "])
async def test_request_without_a_token_is_told_where_to_get_one(tmp_path: Path, authorization: str | None) -> None:
    """By 401 and a challenge without an error (RFC 6750, section 3.1), before its body is looked at; in both eras."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend, guarded(tmp_path, {"x": backend}, issuer) as gw:
        origin = gw.url.removesuffix("/mcp")
        for client in (gw.modern, gw.legacy):
            client.token = None
            body, headers = client.frame("tools/list")
            for method in ("POST", "GET", "DELETE"):
                answer = await client.send(method, body, headers | {"Authorization": authorization})
                assert answer.status == 401
                assert challenge(answer) == {"resource_metadata": f"{origin}{WELL_KNOWN}/mcp"}
                assert answer.message == {
                    "jsonrpc": "2.0",
                    "error": {"code": -32600, "message": "A bearer token is required"},
                }
        assert 'switchyard_requests_denied_total{reason="no_token"} 6.0' in await gw.metrics()


async def test_bad_token_is_told_what_is_wrong_with_it(tmp_path: Path) -> None:
    """By 401, ``invalid_token`` and words of ours; nothing of the token stands in any answer."""
    async with (
        Issuer() as issuer,
        Issuer() as stranger,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer) as gw,
    ):
        bad = {
            "The token has expired": issuer.token(lasts_s=-60),
            "The token is meant for others, not for this gateway": issuer.token(aud="https://other.example"),
            "The token is of an issuer that is not accepted here": stranger.token(),
            "The token's signature is wrong": SigningKey.make("first").sign(good_claims(issuer.name)),
            "The token is signed with an algorithm that is not accepted here": SigningKey.make("e", "ES384").sign(
                good_claims(issuer.name)
            ),
            "The token is not one that is accepted here": "opaque",
        }
        for why, token in bad.items():
            for client in (gw.modern, gw.legacy):
                client.token = token
                answer = await client.list()
                assert answer.status == 401
                said = challenge(answer)
                assert (said["error"], said["error_description"]) == ("invalid_token", why)
                assert answer.error["message"] == why
                assert token not in answer.body.decode()
                assert token not in str(answer.headers)


async def test_missing_scope_is_named(tmp_path: Path) -> None:
    """By 403; the challenge asks for all that is needed, and so does the one for who has no token."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer, section={"requiredScopes": ["mcp:read", "mcp:call"]}) as gw,
    ):
        for client in (gw.modern, gw.legacy):
            client.token = issuer.token(scope="openid mcp:read")
            answer = await client.list()
            assert answer.status == 403
            said = challenge(answer)
            assert said.pop("resource_metadata").endswith(f"{WELL_KNOWN}/mcp")
            assert said == {
                "error": "insufficient_scope",
                "error_description": "The token lacks scope mcp:call",
                "scope": "mcp:read mcp:call",
            }
            client.token = None
            assert challenge(await client.list())["scope"] == "mcp:read mcp:call"
            client.token = issuer.token(scope="mcp:call mcp:read")
            assert (await client.list()).names == ["a"]


async def test_token_in_the_query_string_is_refused(tmp_path: Path) -> None:
    """By 400, whether or not there is a good one in the header; the backend hears of neither."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend, guarded(tmp_path, {"x": backend}, issuer) as gw:
        await gw.modern.list()
        for token in (None, gw.modern.token):
            client = gw.another_modern(token)
            client.url = f"{gw.url}?access_token={issuer.token()}"
            answer = await client.call("a")
            assert answer.status == 400
            assert challenge(answer)["error"] == "invalid_request"
        assert not backend.of("tools/call")


async def test_several_authorization_headers_are_refused(tmp_path: Path) -> None:
    """Also on a connection where the one has just been taken; the scheme's case does not matter."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a"), ttl_ms=600_000) as backend,
        guarded(tmp_path, {"x": backend}, issuer) as gw,
        line(gw) as on,
    ):
        body, fields = gw.modern.frame("tools/list")
        head = [f"{name}: {value}" for name, value in fields.items()]
        one = f"Authorization: bEARER {gw.modern.token}"

        def asked(*lines: str) -> bytes:
            text = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", *head, f"Content-Length: {len(body)}", *lines, "", ""]
            return "\r\n".join(text).encode() + body

        for _ in range(3):
            assert (await on.ask(asked(one))).status == 200
        for other in (one, "authorization: Basic YTpi"):
            async with line(gw) as another:
                refused = await another.ask(asked(one, other))
                assert refused.status == 400
                assert 'error="invalid_request"' in refused.fields["WWW-Authenticate"]


@pytest.mark.parametrize(
    ("listener", "resource", "metadata"),
    [
        ({}, "{origin}/mcp", "{origin}" + WELL_KNOWN + "/mcp"),
        (
            {"publicUrl": "https://a.example/tools/mcp"},
            "https://a.example/tools/mcp",
            "https://a.example" + WELL_KNOWN + "/tools/mcp",
        ),
        ({"publicUrl": "https://a.example"}, "https://a.example", "https://a.example" + WELL_KNOWN),
        ({"publicUrl": "https://a.example/", "path": "/"}, "https://a.example/", "https://a.example" + WELL_KNOWN),
    ],
)
async def test_metadata_is_where_clients_look_for_it(
    tmp_path: Path, listener: dict[str, str], resource: str, metadata: str
) -> None:
    """For anyone, at the well-known paths of the resource and of the root, also as a proxy passes them on; never at others."""
    servers = ["https://login.example"]
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend:
        section = issuer.section(requiredScopes=["mcp:read"])
        authentication = {"issuers": [section], "authorizationServers": servers}
        async with gateway(tmp_path, {"x": backend}, authentication=authentication, listener=listener) as gw:
            origin = gw.url.removesuffix(listener.get("path", "/mcp"))
            path = listener.get("path", "/mcp").rstrip("/")
            public = metadata.partition(WELL_KNOWN)[2]
            assert challenge(await gw.modern.list())["resource_metadata"] == metadata.format(origin=origin)
            for where in {"", "/", path, f"{path}/", public}:
                async with gw.http.get(
                    origin + WELL_KNOWN + where, headers={"Origin": "https://any.example"}
                ) as answer:
                    assert answer.status == 200
                    assert answer.headers["Content-Type"] == "application/json"
                    assert answer.headers["Access-Control-Allow-Origin"] == "*"
                    assert answer.headers["Cache-Control"] == "public, max-age=300"
                    assert await answer.json() == {
                        "resource": resource.format(origin=origin),
                        "resource_name": "agents/main",
                        "authorization_servers": servers,
                        "bearer_methods_supported": ["header"],
                        "scopes_supported": ["mcp:read"],
                    }
                async with gw.http.head(origin + WELL_KNOWN + where) as answer:
                    assert (answer.status, await answer.read()) == (200, b"")
                async with gw.http.post(origin + WELL_KNOWN + where) as answer:
                    assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD, OPTIONS")
            for where in ("/other", "/mcpx", "x"):
                async with gw.http.get(origin + WELL_KNOWN + where) as answer:
                    assert answer.status == 404


async def test_metadata_follows_the_config_and_minds_the_host(tmp_path: Path) -> None:
    """A Host that is not ours is refused, as anywhere; without authentication there is no metadata."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend, guarded(tmp_path, {"x": backend}, issuer) as gw:
        place = gw.url.replace("/mcp", WELL_KNOWN)
        async with gw.http.get(place, headers={"Host": "evil.example"}) as answer:
            assert answer.status == 403
        await gw.configure({"x": backend})
        async with gw.http.get(place) as answer:
            assert answer.status == 404
        assert (await gw.another_modern().list()).names == ["a"]


async def test_browsers_may_ask_before_they_have_a_token(tmp_path: Path) -> None:
    """A preflight needs none, for the endpoint and for the metadata; refusals can be read where the origin is allowed."""
    origin = "https://app.example"
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer, listener={"allowedOrigins": [origin]}) as gw,
    ):
        asked = {"Origin": origin, "Access-Control-Request-Headers": "authorization,mcp-protocol-version"}
        for place, method in ((gw.url, "POST"), (gw.url.replace("/mcp", WELL_KNOWN), "GET")):
            async with gw.http.options(place, headers=asked) as answer:
                assert answer.status == 204
                assert method in answer.headers["Access-Control-Allow-Methods"]
                assert answer.headers["Access-Control-Allow-Headers"] == "authorization,mcp-protocol-version"
        gw.modern.token = None
        refused = await gw.modern.list(headers={"Origin": origin})
        assert refused.status == 401
        assert refused.headers["Access-Control-Allow-Origin"] == origin
        assert "WWW-Authenticate" in refused.headers["Access-Control-Expose-Headers"]


async def test_static_token_stands_for_its_caller(tmp_path: Path) -> None:
    """The line end that editors add is not part of it; a wrong one, its name, or its file's name opens nothing."""
    async with ModernBackend(tool("a")) as backend:
        token = static(tmp_path, "ci", "s3cret-of-ci\n", team="build")
        async with gateway(tmp_path, {"x": backend}, authentication={"tokens": [token]}) as gw:
            assert (await gw.another_modern("s3cret-of-ci").list()).names == ["a"]
            for wrong in ("s3cret-of-c", "s3cret-of-ci2", "S3cret-of-ci", "ci", "cred_token-ci"):
                answer = await gw.another_modern(wrong).list()
                assert (answer.status, challenge(answer)["error"]) == (401, "invalid_token")
            shown = json.dumps(await gw.status()) + await gw.metrics()
            assert "s3cret" not in shown


async def test_static_token_that_has_not_arrived_opens_nothing(tmp_path: Path) -> None:
    """Nor does an empty one; the gateway stays closed. A changed one: the old opens until the new is there, and then no more."""
    async with ModernBackend(tool("a")) as backend:
        waiting, empty = static(tmp_path, "late", None), static(tmp_path, "empty", "\n")
        async with gateway(tmp_path, {"x": backend}, authentication={"tokens": [waiting, empty]}) as gw:
            assert (await gw.modern.list()).status == 401
            assert (await gw.another_modern("on its way").list()).status == 401
            assert (await gw.status())["config"]["waitingForCredentials"] == ["token late"]
            old = static(tmp_path, "ci", "old-secret")
            await gw.configure({"x": backend}, authentication={"tokens": [old]})
            assert (await gw.another_modern("old-secret").list()).status == 200
            new = static(tmp_path, "ci", "new-secret", written="old-secret")
            await gw.configure({"x": backend}, authentication={"tokens": [new]})
            assert (await gw.another_modern("old-secret").list()).status == 200
            (tmp_path / "cred_token-ci").write_text("new-secret")
            await eventually(lambda: _opens(gw.another_modern("new-secret")))
            assert (await gw.another_modern("old-secret").list()).status == 401


async def _opens(client: Any) -> bool:
    return bool((await client.list()).status == 200)


@pytest.mark.parametrize(
    "authentication",
    [
        {},
        {"issuers": []},
        {"issuers": [{"issuer": "https://i.example", "audiences": ["a"], "jwks": '{"keys":[]}'}]},
    ],
)
async def test_gateway_that_trusts_nobody_lets_nobody_in(tmp_path: Path, authentication: dict[str, Any]) -> None:
    """An empty section is not the same as none."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        gateway(tmp_path, {"x": backend}, authentication=authentication) as gw,
    ):
        for token in (None, "opaque", issuer.token(), issuer.token(iss="https://i.example", aud="a")):
            assert (await gw.another_modern(token).list()).status == 401


@pytest.mark.parametrize(
    ("authentication", "problem"),
    [
        ({"issuers": [{"issuer": "i", "audiences": [AUDIENCE], "jwks": "no keys"}]}, "jwks: is not JSON"),
        ({"issuers": [{"issuer": "i", "audiences": [AUDIENCE]}]}, "needs either keys or a URL"),
        (
            {"issuers": [{"issuer": "i", "audiences": ["a"], "jwks": '{"keys":[]}', "algorithms": ["none"]}]},
            "'none' is no asymmetric signature algorithm",
        ),
        ({"issuers": "all"}, "authentication.issuers"),
        ("open", "authentication"),
    ],
)
async def test_section_that_cannot_be_relied_on_never_opens_a_gateway(
    tmp_path: Path, authentication: object, problem: str
) -> None:
    """A gateway that ran goes on as it was, and one that starts so serves no tool to anyone."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer) as gw,
    ):
        assert (await gw.modern.list()).names == ["a"]
        config = json.loads((tmp_path / "gateway.json").read_text()) | {"authentication": authentication}
        (tmp_path / "gateway.json").write_text(json.dumps(config))

        async def refused() -> bool:
            return problem in ((await gw.status())["config"]["refused"] or "")

        await eventually(refused)
        assert (await gw.another_modern().list()).status == 401
        assert (await gw.modern.list()).names == ["a"]
    broken = tmp_path / "broken"
    broken.mkdir()
    async with gateway(broken, {}, authentication=authentication) as gw:
        assert (await gw.another_modern().list()).names == []


async def test_long_and_odd_tokens_are_refused_unread(tmp_path: Path) -> None:
    """By 401; what is longer than any header may be, by the server itself. The gateway stays as it was."""
    async with Issuer() as issuer, ModernBackend(tool("a")) as backend, guarded(tmp_path, {"x": backend}, issuer) as gw:
        for token in ("a" * 16_385, "a b", "ä", issuer.token(filler="x" * 15_000)):
            answer = await gw.another_modern(token).list()
            assert (answer.status, challenge(answer)["error"]) == (401, "invalid_token")
        assert (await gw.another_modern("a" * 40_000).list()).status == 400
        assert (await gw.modern.list()).names == ["a"]


async def test_caller_is_looked_at_again_when_its_body_has_come(tmp_path: Path) -> None:
    """A token that expired while the body arrived is worth nothing, whatever it was when the request began."""
    async with (
        Issuer() as issuer,
        ModernBackend(tool("a")) as backend,
        guarded(tmp_path, {"x": backend}, issuer, section={"leewayMs": 0}) as gw,
        line(gw) as on,
    ):
        until = int(time.time()) + 2
        body, fields = gw.modern.frame("tools/list")
        head = [f"{name}: {value}" for name, value in fields.items()]
        token = f"Authorization: Bearer {issuer.token(exp=until)}"
        text = ["POST /mcp HTTP/1.1", "Host: 127.0.0.1", *head, token, f"Content-Length: {len(body)}", "", ""]
        on.send("\r\n".join(text).encode(), body[:-1])

        async def over() -> bool:
            return time.time() > until

        await eventually(over)
        answer = await on.ask(body[-1:])
        assert answer.status == 401
        assert answer.message["error"]["message"] == "The token has expired"


async def test_every_kind_of_key_signs(tmp_path: Path) -> None:
    """RSA, elliptic curves and Ed25519, side by side in one set; given in the config and published."""
    keys = [SigningKey.make(name, name) for name in ("RS256", "PS256", "ES256", "EdDSA")]
    async with Issuer(*keys) as issuer, ModernBackend(tool("a")) as backend:
        for section in ({}, {"jwksUrl": None, "jwks": key_set(keys)}):
            directory = tmp_path / str(len(section))
            directory.mkdir()
            async with guarded(directory, {"x": backend}, issuer, section=section) as gw:
                for key in keys:
                    client = gw.another_modern(key.sign(good_claims(issuer.name)))
                    assert (await client.list()).names == ["a"]
                (shown,) = (await gw.status())["issuers"]
                assert (shown["issuer"], shown["keys"], shown["lastError"]) == (issuer.name, 4, None)
