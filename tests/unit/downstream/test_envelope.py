"""Which era a message is of, and the modern checks in their order."""

import json
from typing import Any

import pytest
from multidict import CIMultiDict, CIMultiDictProxy

from switchyard_sidecar.downstream.envelope import Envelope, check_modern, open_message
from switchyard_sidecar.protocol import jsonrpc
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era

VERSION = "2026-07-28"
META: dict[str, Any] = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "t", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {"MCP-Protocol-Version": VERSION, "Mcp-Method": "tools/list"}


def envelope(method: str, params: dict[str, Any], version_header: str | None = None) -> Envelope:
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
    return open_message(jsonrpc.decode(body), version_header)


def headers(*pairs: tuple[str, str]) -> CIMultiDictProxy[str]:
    return CIMultiDictProxy(CIMultiDict(pairs))


@pytest.mark.parametrize(
    ("meta", "header", "era"),
    [
        pytest.param(META, VERSION, Era.MODERN, id="both"),
        pytest.param(META, None, Era.MODERN, id="meta alone"),
        pytest.param(META, "2025-11-25", Era.MODERN, id="meta wins over a legacy header"),
        pytest.param(None, VERSION, Era.MODERN, id="modern header alone"),
        pytest.param(None, "2099-01-01", Era.MODERN, id="unknown later header"),
        pytest.param(None, "2000-01-01", Era.MODERN, id="unknown earlier header"),
        pytest.param(None, "garbage", Era.MODERN, id="garbage header"),
        pytest.param(None, None, Era.LEGACY, id="nothing"),
        pytest.param({}, None, Era.LEGACY, id="empty meta"),
        pytest.param({"progressToken": 1}, "2025-11-25", Era.LEGACY, id="legacy meta"),
        *[
            pytest.param(None, version, Era.LEGACY, id=version)
            for version in ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
        ],
    ],
)
def test_era_is_decided_by_meta_first_and_header_second(meta: Any, header: str | None, era: Era) -> None:
    """Nothing but the request itself decides, and any version that is not legacy counts as modern."""
    params = {} if meta is None else {"_meta": meta}
    assert envelope("tools/list", params, header).era is era


def without(key: str) -> dict[str, Any]:
    return {name: value for name, value in META.items() if not name.endswith(key)}


def changed(key: str, value: Any) -> dict[str, Any]:
    return META | {f"io.modelcontextprotocol/{key}": value}


@pytest.mark.parametrize(
    ("meta", "pairs", "code"),
    [
        pytest.param(without("protocolVersion"), HEADERS, -32602, id="no version in meta"),
        pytest.param(without("clientCapabilities"), HEADERS, -32602, id="no capabilities"),
        pytest.param(changed("protocolVersion", 7), HEADERS, -32602, id="version no string"),
        pytest.param(changed("clientCapabilities", []), HEADERS, -32602, id="capabilities no object"),
        pytest.param(changed("clientInfo", "x"), HEADERS, -32602, id="client info no object"),
        pytest.param(META, {"Mcp-Method": "tools/list"}, -32020, id="no version header"),
        pytest.param(META, {"MCP-Protocol-Version": VERSION}, -32020, id="no method header"),
        pytest.param(META, HEADERS | {"Mcp-Method": "tools/call"}, -32020, id="other method"),
        pytest.param(META, HEADERS | {"Mcp-Method": "TOOLS/LIST"}, -32020, id="values are case-sensitive"),
        pytest.param(changed("protocolVersion", "v999.0.0"), HEADERS, -32020, id="compared before it is judged"),
        pytest.param(META, HEADERS | {"MCP-Protocol-Version": "2025-11-25"}, -32020, id="legacy header, modern meta"),
        pytest.param(
            changed("protocolVersion", "2099-01-01"),
            HEADERS | {"MCP-Protocol-Version": "2099-01-01"},
            -32022,
            id="unserved",
        ),
        pytest.param(
            changed("protocolVersion", "2025-11-25"),
            HEADERS | {"MCP-Protocol-Version": "2025-11-25"},
            -32022,
            id="a legacy version in meta is no modern one",
        ),
    ],
)
def test_malformed_modern_request_is_refused(meta: dict[str, Any], pairs: dict[str, str], code: int) -> None:
    """``_meta`` is checked before headers, headers before the version."""
    with pytest.raises(McpError) as refused:
        check_modern(envelope("tools/list", {"_meta": meta}), headers(*pairs.items()))
    assert refused.value.code == code


def test_unsupported_version_names_what_is_served() -> None:
    """A client can retry from the error alone."""
    meta = changed("protocolVersion", "1900-01-01")
    pairs = HEADERS | {"MCP-Protocol-Version": "1900-01-01"}
    with pytest.raises(McpError) as refused:
        check_modern(envelope("tools/list", {"_meta": meta}), headers(*pairs.items()))
    assert refused.value.data == {"supported": ["2026-07-28"], "requested": "1900-01-01"}


def test_blanks_around_a_header_value_and_case_of_its_name_mean_nothing() -> None:
    """RFC 9110: optional white space is no part of a value, names are case-insensitive."""
    check_modern(
        envelope("tools/list", {"_meta": META}),
        headers(("mcp-protocol-version", f"  {VERSION}\t"), ("MCP-METHOD", " tools/list ")),
    )


def test_client_info_is_optional() -> None:
    """It should be sent, and must not be demanded."""
    check_modern(envelope("tools/list", {"_meta": without("clientInfo")}), headers(*HEADERS.items()))


@pytest.mark.parametrize(
    ("name", "header", "accepted"),
    [
        ("echo", "echo", True),
        ("echo", "  echo ", True),
        ("echo", "=?base64?ZWNobw==?=", True),
        ("größe", "=?base64?Z3LDtsOfZQ==?=", True),
        ("echo", "Echo", False),
        ("echo", "=?BASE64?ZWNobw==?=", False),
        ("echo", "=?base64?!!!?=", False),
        ("echo", None, False),
        (7, "7", False),
        (None, "echo", False),
    ],
)
def test_mcp_name_equals_the_name_in_the_body(name: Any, header: str | None, accepted: bool) -> None:
    """Encoded values are decoded before they are compared."""
    params = {"_meta": META} | ({} if name is None else {"name": name})
    pairs = [("MCP-Protocol-Version", VERSION), ("Mcp-Method", "tools/call")]
    pairs += [] if header is None else [("Mcp-Name", header)]
    if accepted:
        check_modern(envelope("tools/call", params), headers(*pairs))
        return
    with pytest.raises(McpError) as refused:
        check_modern(envelope("tools/call", params), headers(*pairs))
    assert refused.value.code == -32020


def test_a_header_given_twice_is_refused() -> None:
    """An intermediary may have acted on either value."""
    pairs = [*HEADERS.items(), ("Mcp-Method", "tools/list")]
    with pytest.raises(McpError, match="more than once"):
        check_modern(envelope("tools/list", {"_meta": META}), headers(*pairs))


def test_meta_that_is_no_object_is_refused() -> None:
    """It is a fault of the parameters."""
    with pytest.raises(McpError) as refused:
        envelope("tools/list", {"_meta": 1})
    assert refused.value.code == -32602
