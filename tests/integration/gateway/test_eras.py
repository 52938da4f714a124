"""Both eras on both sides: finding out what a backend speaks, and speaking to each side as its era asks."""

import json
from pathlib import Path
from typing import Any

import pytest
from multidict import CIMultiDict

from fakes import hostile
from fakes.clients import META, LegacyClient, ModernClient
from fakes.gateway import gateway, section
from fakes.hostile import Reply
from fakes.http_sse import HttpSseBackend
from fakes.legacy import LegacyBackend
from fakes.modern import ModernBackend
from fakes.ordinary import tool, tools
from fakes.waiting import eventually


async def test_each_client_sees_the_tools_of_both_eras(tmp_path: Path) -> None:
    """One list, whoever asks and whoever answers; every tool in it can be called."""
    async with (
        ModernBackend(*tools("a")) as new,
        LegacyBackend(*tools("b")) as old,
        gateway(tmp_path, {"new": new, "old": old}) as gw,
    ):
        await gw.legacy.initialize()
        for client in (gw.modern, gw.legacy):
            assert (await client.list()).names == ["new__a", "old__b"]
            assert (await client.call("new__a", {"x": 1})).text == {"tool": "a", "arguments": {"x": 1}}
            assert (await client.call("old__b", {"x": 1})).text == {"tool": "b", "arguments": {"x": 1}}
        assert new.complaints == old.complaints == []


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_each_backend_is_spoken_to_in_its_own_version(tmp_path: Path, version: str) -> None:
    """Whatever the client speaks, a legacy backend gets the version it negotiated, in the way of that version."""
    async with LegacyBackend(tool("b"), version=version) as backend, gateway(tmp_path, {"b": backend}) as gw:
        await gw.legacy.initialize("2025-03-26")
        for client in (gw.modern, gw.legacy):
            assert (await client.call("b")).text["tool"] == "b"
        headers = {request.header("MCP-Protocol-Version") for request in backend.of("tools/call")}
        assert headers == {version if version >= "2025-06-18" else None}
        assert backend.complaints == []


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(hostile.error(-32601), id="method not found"),
        pytest.param(hostile.error(-32601, status=404), id="method not found, 404"),
        pytest.param(hostile.error(-32600, status=400), id="invalid request"),
        pytest.param(hostile.error(-32602), id="invalid params"),
        pytest.param(hostile.error(-32000, "Server not initialized", status=400), id="not initialized"),
        pytest.param(
            hostile.body(b'{"jsonrpc":"2.0","error":{"code":-32600,"message":"Missing ID field"},"id":null}'),
            id="null id",
        ),
        pytest.param(
            hostile.body(
                b"Bad Request: Unsupported protocol version: 2026-07-28", status=400, content_type="text/plain"
            ),
            id="plain text",
        ),
        pytest.param(hostile.body(b"", status=400, content_type=None), id="400 and no body"),
        pytest.param(hostile.body(b"", status=404, content_type=None), id="404 and no body"),
        pytest.param(hostile.body(b"", status=405, content_type=None), id="405 and no body"),
        pytest.param(hostile.body(b"", status=202, content_type=None), id="accepted, and nothing follows"),
        pytest.param(hostile.body(b"<html>Welcome</html>", content_type="text/html"), id="a web page"),
        pytest.param(hostile.sse(), id="an empty stream"),
        pytest.param(
            hostile.error(-32022, data={"supported": ["2025-11-25"]}, status=400), id="no modern version in common"
        ),
        pytest.param(hostile.result({"supportedVersions": ["2027-01-01"]}), id="only a version of the future"),
        pytest.param(hostile.result({}), id="a result that means nothing"),
        pytest.param(hostile.hang(), id="silence"),
    ],
)
async def test_legacy_backend_is_found_behind_any_answer(tmp_path: Path, answer: Reply) -> None:
    """What is no recognised modern answer leads to initialize, and then everything works."""
    async with LegacyBackend(tool("a")) as backend:
        backend.always("server/discover", answer)
        async with gateway(tmp_path, {"a": backend}) as gw:
            await backend.received("initialize")
            assert (await gw.modern.list()).names == ["a"]
            assert (await gw.modern.call("a")).text["tool"] == "a"
            assert backend.complaints == []


@pytest.mark.parametrize(
    "first",
    [
        pytest.param(hostile.error(-32020, status=400), id="header mismatch"),
        pytest.param(hostile.error(-32021, status=400), id="a capability is missing"),
        pytest.param(
            hostile.error(-32022, data={"supported": ["2026-07-28"]}, status=400), id="version, ours supported"
        ),
        pytest.param(hostile.error(-32004, data={"supported": ["2026-07-28"]}, status=400), id="version, as in drafts"),
    ],
)
async def test_recognised_modern_error_stays_modern(tmp_path: Path, first: Reply) -> None:
    """Errors that only a modern server has never lead to initialize."""
    async with ModernBackend(tool("a")) as backend:
        backend.fail_next("server/discover", first)
        async with gateway(tmp_path, {"a": backend}) as gw:
            assert (await gw.modern.list()).names == ["a"]
            assert backend.of("initialize") == []


@pytest.mark.parametrize("status", [401, 403, 429, 500, 502, 503])
async def test_what_stands_before_the_backend_decides_nothing(tmp_path: Path, status: int) -> None:
    """Authentication, overload and proxies say nothing of the era: it is asked again, and found when they are gone."""
    async with ModernBackend(tool("a")) as backend:
        backend.fail_next("server/discover", hostile.body(b"no", status=status, content_type="text/plain"))
        async with gateway(tmp_path, {"a": backend}) as gw:
            await backend.received("server/discover", 2)
            await eventually(lambda: listed(gw.modern, ["a"]))
            assert backend.of("initialize") == []


async def listed(client: ModernClient, names: list[str]) -> bool:
    """Whether the list holds exactly these tools."""
    answer = await client.list()
    return "result" in answer.message and answer.names == names


async def test_era_is_found_anew_when_the_backend_changes_it(tmp_path: Path) -> None:
    """A server that is upgraded behind its address is noticed after the first failure."""
    async with LegacyBackend(tool("old")) as old, gateway(tmp_path, {"a": old}) as gw:
        assert (await gw.modern.list()).names == ["old"]
        await old.stop()
        async with ModernBackend(tool("new")).in_place_of(old) as new:
            await eventually(lambda: listed(gw.modern, ["new"]), within_s=10)
            assert (await gw.modern.call("new")).text["tool"] == "new"
            assert new.of("tools/call")


async def test_pinned_era_is_not_probed(tmp_path: Path) -> None:
    """``protocol`` says what the backend speaks, and the probe is skipped."""
    async with LegacyBackend(tool("a")) as old, ModernBackend(tool("b")) as new:
        sections = {"old": section(old, protocol="Legacy"), "new": section(new, protocol="Modern")}
        async with gateway(tmp_path, sections) as gw:
            assert (await gw.modern.list()).names == ["new__b", "old__a"]
            assert old.of("server/discover") == []
            assert new.of("initialize") == []


@pytest.mark.parametrize(
    ("hints", "ttl_ms", "scope"),
    [
        pytest.param({"ttl_ms": 30_000, "scope": "public"}, 30_000, "public", id="as said"),
        pytest.param({"ttl_ms": ..., "scope": ...}, 0, "private", id="absent"),
        pytest.param({"ttl_ms": -5, "scope": "public"}, 0, "public", id="negative"),
        pytest.param({"ttl_ms": 30_000, "scope": ""}, 30_000, "private", id="no scope at all"),
        pytest.param({"ttl_ms": 30_000, "scope": "tenant"}, 30_000, "private", id="a scope nobody knows"),
        pytest.param({"ttl_ms": None, "scope": None}, 0, "private", id="null"),
        pytest.param({"ttl_ms": 10**17, "scope": "public"}, 600_000, "public", id="longer than maxTTL"),
        pytest.param({"ttl_ms": 10**30, "scope": "public"}, 0, "public", id="no time anybody means"),
    ],
)
async def test_freshness_is_always_said_to_modern_clients(
    tmp_path: Path, hints: dict[str, Any], ttl_ms: int, scope: str
) -> None:
    """Both members are there whatever the backend omits; doubt counts as stale and private; the ttl is what is left."""
    async with ModernBackend(tool("a"), **hints) as backend, gateway(tmp_path, {"a": backend}) as gw:
        result = (await gw.modern.list()).result
        assert ttl_ms - 5_000 <= result["ttlMs"] <= ttl_ms
        assert (result["cacheScope"], result["resultType"]) == (scope, "complete")


async def test_freshness_is_never_said_to_legacy_clients(tmp_path: Path) -> None:
    """Members of the new revision stay out of the old one's results."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        assert (await gw.legacy.list()).result == {"tools": [tool("a")]}
        assert set((await gw.legacy.call("a")).result) == {"content"}


async def test_modern_result_is_complete_whatever_the_backend(tmp_path: Path) -> None:
    """A call's result says that it is complete, and who serves it, also from a legacy backend."""
    async with LegacyBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        result = (await gw.modern.call("a")).result
        assert result["resultType"] == "complete"
        assert result["_meta"][META + "serverInfo"]["name"] == "agents/main"


@pytest.mark.parametrize(
    ("how", "status", "code"),
    [
        pytest.param({"meta": {META + "protocolVersion": None}}, 400, -32602, id="version absent in the body"),
        pytest.param({"meta": {META + "clientCapabilities": None}}, 400, -32602, id="capabilities absent"),
        pytest.param({"meta": {META + "protocolVersion": "v999.0.0"}}, 400, -32020, id="versions differ"),
        pytest.param({"headers": {"MCP-Protocol-Version": None}}, 400, -32020, id="version header absent"),
        pytest.param({"headers": {"Mcp-Method": None}}, 400, -32020, id="method header absent"),
        pytest.param({"headers": {"Mcp-Method": "TOOLS/LIST"}}, 400, -32020, id="method header in other case"),
        *(
            pytest.param(
                {"meta": {META + "protocolVersion": version}, "headers": {"MCP-Protocol-Version": version}},
                400,
                -32022,
                id=f"unknown version {version}",
            )
            for version in ("2000-01-01", "2099-01-01", "garbage")
        ),
    ],
)
async def test_modern_request_is_judged_in_order(tmp_path: Path, how: dict[str, Any], status: int, code: int) -> None:
    """First ``_meta``, then headers against the body, then the version; every error carries the request's id."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        answer = await gw.modern.list(id="the id", **how)
        assert (answer.status, answer.error["code"], answer.message["id"]) == (status, code, "the id")
        if code == -32022:
            assert answer.error["data"]["supported"] == ["2026-07-28"]


async def test_client_info_may_be_missing_and_header_blanks_do_not_count(tmp_path: Path) -> None:
    """Neither is a fault."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        assert (await gw.modern.list(meta={META + "clientInfo": None})).names == ["a"]
        assert (await gw.modern.call("a", headers={"Mcp-Name": "  a\t"})).text["tool"] == "a"


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "nonsense"]
)
async def test_modern_request_for_another_eras_method_is_unknown(tmp_path: Path, method: str) -> None:
    """The era is the request's, not the method's: 404 and -32601; and nothing sticks to the connection."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        answer = await gw.modern.request(method, {})
        assert (answer.status, answer.error["code"]) == (404, -32601)
        assert (await gw.legacy.initialize()).status == 200


@pytest.mark.parametrize(
    ("asked", "answered"),
    [
        ("2025-11-25", "2025-11-25"),
        ("2025-06-18", "2025-06-18"),
        ("2025-03-26", "2025-03-26"),
        ("2024-11-05", "2025-11-25"),
        ("1999-01-01", "2025-11-25"),
    ],
)
async def test_legacy_version_is_negotiated(tmp_path: Path, asked: str, answered: str) -> None:
    """A served version is confirmed, any other is answered with the newest; both always announce changes of tools."""
    async with gateway(tmp_path, {}) as gw:
        result = (await gw.legacy.initialize(asked)).result
        assert result["protocolVersion"] == answered
        assert result["capabilities"]["tools"] == {"listChanged": True}
        assert result["serverInfo"]["name"] == "agents/main"


@pytest.mark.parametrize("header", [None, "2025-03-26", "2025-11-25"])
async def test_version_header_of_initialize_does_not_matter(tmp_path: Path, header: str | None) -> None:
    """Clients send the newest, the asked one or none; the body decides."""
    async with gateway(tmp_path, {}) as gw:
        params = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}
        answer = await gw.legacy.request("initialize", params, headers={"MCP-Protocol-Version": header})
        assert answer.result["protocolVersion"] == "2025-06-18"


async def test_ping_and_log_level_are_answered_here(tmp_path: Path) -> None:
    """A modern backend knows neither: ping ends here, the level travels with each call."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        assert (await gw.legacy.request("ping")).result == {}
        assert (await gw.legacy.request("logging/setLevel", {"level": "debug"})).result == {}
        await gw.legacy.call("a")
        assert backend.of("tools/call")[-1].params["_meta"][META + "logLevel"] == "debug"
        assert backend.complaints == []


async def test_log_messages_of_a_modern_backend_reach_a_legacy_client(tmp_path: Path) -> None:
    """They come before the answer, on the answer's own stream."""
    message = {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": "x"}}
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.sse(message, result_value={"resultType": "complete", "content": []})
        await gw.legacy.initialize()
        answer = await gw.legacy.call("a")
        assert answer.messages[0] == message
        assert answer.result == {"content": []}


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("application/json, text/event-stream", "application/json"),
        ("application/json", "application/json"),
        ("text/event-stream", "text/event-stream"),
        ("*/*", "application/json"),
        (None, "application/json"),
        ("application/*;q=0.5, text/html", "application/json"),
        ("application/json;q=0, */*", "text/event-stream"),
    ],
)
async def test_any_accept_is_answered_in_a_type_it_allows(tmp_path: Path, accept: str | None, media_type: str) -> None:
    """Real clients send one type, both, wildcards or nothing; lists and calls work for all."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        headers = {"Accept": accept}
        listing = await gw.modern.list(headers=headers)
        assert (listing.names, listing.headers["Content-Type"]) == (["a"], media_type)
        call = await gw.modern.call("a", headers=headers)
        assert (call.text["tool"], call.headers["Content-Type"]) == ("a", media_type)
        await gw.legacy.initialize()
        assert (await gw.legacy.list(headers=headers)).headers["Content-Type"] == media_type


async def test_accept_on_several_lines_is_one_list(tmp_path: Path) -> None:
    """Some HTTP libraries write each media type on a line of its own."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        body, headers = gw.modern.frame("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        lines = CIMultiDict((name, value) for name, value in headers.items() if value is not None and name != "Accept")
        lines.extend([("Accept", "application/json"), ("Accept", "text/event-stream")])
        async with gw.http.post(gw.url, data=body, headers=lines) as response:
            assert (response.status, response.content_type) == (200, "text/event-stream")


async def test_accept_that_allows_nothing_is_refused(tmp_path: Path) -> None:
    """406, and no sign of a need to authenticate."""
    async with gateway(tmp_path, {}) as gw:
        answer = await gw.modern.list(headers={"Accept": "text/html"})
        assert answer.status == 406
        assert "WWW-Authenticate" not in answer.headers


@pytest.mark.parametrize("path", ["", "/"])
async def test_both_spellings_of_the_path_work_without_redirect(tmp_path: Path, path: str) -> None:
    """With and without the slash; a redirect would lose the body at some clients."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        client = ModernClient(gw.url + path, gw.http)
        assert (await client.list()).names == ["a"]


async def test_backends_redirect_within_its_origin_is_followed(tmp_path: Path) -> None:
    """307 keeps method and body, and the client hears nothing of it."""
    async with ModernBackend(tool("a")) as backend:
        ordinary = backend.answer
        moved = hostile.body(b"", status=307, content_type=None, fields=[("Location", backend.url + "/")])
        backend.answer = lambda request: ordinary(request) if request.path == "/mcp/" else moved
        async with gateway(tmp_path, {"a": backend}) as gw:
            assert (await gw.modern.list()).names == ["a"]
            assert (await gw.modern.call("a")).text["tool"] == "a"


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_backends_redirect_elsewhere_is_not_followed(tmp_path: Path, status: int) -> None:
    """Another origin, or a redirect that would turn POST into GET, ends there; the client gets an error, not a 3xx."""
    async with ModernBackend(tool("a")) as other, ModernBackend() as backend:
        backend.answer = lambda _: hostile.body(b"", status=status, content_type=None, fields=[("Location", other.url)])
        async with gateway(tmp_path, {"a": backend}) as gw:
            answer = await gw.modern.list()
            assert answer.status == 200
            assert answer.error["code"] == -32603
            assert other.requests == []


async def test_tool_with_invalid_mirrored_parameters_is_left_out_for_modern_clients_alone(tmp_path: Path) -> None:
    """One bad annotation costs its tool, not the list; legacy clients know no such headers and keep it; status says why."""
    schema = {"type": "object", "properties": {"r": {"type": "string", "x-mcp-header": "Region\r\nX-Evil: 1"}}}
    bad = tool("bad", inputSchema=schema)
    async with ModernBackend(bad, tool("good")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        assert (await gw.modern.list()).names == ["good"]
        assert (await gw.legacy.list()).names == ["bad", "good"]
        assert (await gw.modern.call("bad")).error["code"] == -32602
        assert (await gw.legacy.call("bad")).text["tool"] == "bad"
        assert [entry["tool"] for entry in (await gw.status())["leftOut"]] == ["bad"]


async def test_mirrored_parameters_are_checked_here_and_sent_on(tmp_path: Path) -> None:
    """Headers of a modern call must equal its body; towards the backend they are made anew, for callers of either era."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    async with ModernBackend(tool("a", inputSchema=schema)) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize()
        assert (await gw.modern.call("a", {"region": "x"})).error["code"] == -32020
        assert (await gw.modern.call("a", {"region": "x"}, headers={"Mcp-Param-Region": "y"})).status == 400
        assert (await gw.modern.call("a", {"region": "x"}, headers={"mcp-param-region": "x"})).text["tool"] == "a"
        assert (await gw.modern.call("a", {"region": None})).text["tool"] == "a"
        assert (await gw.legacy.call("a", {"region": "日本"})).text["arguments"] == {"region": "日本"}
        sent = [request.header("Mcp-Param-Region") for request in backend.of("tools/call")]
        assert sent == ["x", None, "=?base64?5pel5pys?="]


async def test_renamed_tool_is_called_by_its_own_name(tmp_path: Path) -> None:
    """``Mcp-Name`` is compared with the exposed name, and made anew of the backend's."""
    async with ModernBackend(*tools("ünï", "b")) as one, gateway(tmp_path, {"x": one, "y": one}) as gw:
        assert (await gw.modern.call("x__ünï")).text["tool"] == "ünï"
        assert one.of("tools/call")[0].header("Mcp-Name") == "=?base64?w7xuw68=?="
        assert (await gw.modern.call("x__ünï", headers={"Mcp-Name": "ünï"})).error["code"] == -32020
        assert one.complaints == []


@pytest.mark.parametrize(
    "schema", [{"type": "array"}, {"anyOf": [{"type": "object"}, {"type": "null"}]}, {"type": ["object", "null"]}, True]
)
async def test_output_schema_only_modern_clients_can_read_is_withheld_from_legacy_ones(
    tmp_path: Path, schema: Any
) -> None:
    """The tool stays in both lists; what a legacy client would choke on is cut out for it."""
    definition = tool("a", outputSchema=schema)
    async with ModernBackend(definition) as backend, gateway(tmp_path, {"a": backend}) as gw:
        backend.call = lambda _: hostile.result({"resultType": "complete", "content": [], "structuredContent": [1, 2]})
        await gw.legacy.initialize()
        assert (await gw.modern.list()).result["tools"] == [definition]
        assert (await gw.legacy.list()).result["tools"] == [tool("a")]
        assert (await gw.modern.call("a")).result["structuredContent"] == [1, 2]
        assert "structuredContent" not in (await gw.legacy.call("a")).result


async def test_batch_of_the_oldest_version_is_answered(tmp_path: Path) -> None:
    """Only 2025-03-26 has batches: answers in one array; refused elsewhere."""
    async with ModernBackend(tool("a")) as backend, gateway(tmp_path, {"a": backend}) as gw:
        await gw.legacy.initialize("2025-03-26")
        batch = [
            {"jsonrpc": "2.0", "id": 1, "method": "ping"},
            {"jsonrpc": "2.0", "method": "notifications/initialized"},
            {"jsonrpc": "2.0", "id": "two", "method": "tools/list"},
        ]
        _, headers = gw.legacy.frame("ping")
        answer = await gw.legacy.send("POST", json.dumps(batch).encode(), headers)
        assert [(each["id"], sorted(each["result"])) for each in answer.message] == [(1, []), ("two", ["tools"])]
        newer = LegacyClient(gw.url, gw.http)
        await newer.initialize("2025-11-25")
        _, headers = newer.frame("ping")
        assert (await newer.send("POST", json.dumps(batch).encode(), headers)).status == 400


@pytest.mark.parametrize("transport", ["StreamableHTTP", "SSE"])
async def test_backend_on_the_oldest_transport_is_served(tmp_path: Path, transport: str) -> None:
    """HTTP+SSE, declared or found out: listed, called, and heard when its list changes."""
    async with (
        HttpSseBackend(tool("a")) as backend,
        gateway(tmp_path, {"a": section(backend, transport=transport)}) as gw,
    ):
        assert (await gw.modern.list()).names == ["a"]
        assert (await gw.modern.call("a", {"x": 1})).text == {"tool": "a", "arguments": {"x": 1}}
        async with gw.modern.listen() as stream:
            backend.tools.append(tool("b"))
            await backend.notify()
            await stream.has(2)
            assert (await gw.modern.list()).names == ["a", "b"]
        assert backend.complaints == []
