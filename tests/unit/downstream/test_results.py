"""Results and errors of calls, from era to era."""

import json
from typing import Any

import pytest

from switchyard_sidecar.downstream.results import project_error, project_result
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.versions import Era

SERVER_INFO = b'{"name":"ours","version":"1"}'
OURS = {"io.modelcontextprotocol/serverInfo": {"name": "ours", "version": "1"}}


def project(result: str, backend: Era, caller: Era) -> str:
    return project_result(result.encode(), backend=backend, caller=caller, server_info=SERVER_INFO).decode()


def test_legacy_result_becomes_a_complete_modern_one() -> None:
    """``resultType`` is required; this gateway names itself."""
    result = json.loads(project('{"content":[]}', Era.LEGACY, Era.MODERN))
    assert result == {"resultType": "complete", "content": [], "_meta": OURS}


def test_modern_result_loses_what_legacy_does_not_know() -> None:
    """``resultType`` goes, everything else stays."""
    given = '{"resultType":"complete","content":[{"type":"text","text":"x"}],"isError":true,"_meta":{"a/b":1},"x":2}'
    assert project(given, Era.MODERN, Era.LEGACY) == (
        '{"content":[{"type":"text","text":"x"}],"isError":true,"_meta":{"a/b":1},"x":2}'
    )


@pytest.mark.parametrize("value", ["[1]", '"text"', "7", "null", "true"])
def test_structured_content_that_is_no_object_stays_away_from_legacy(value: str) -> None:
    """Their revision says it is an object; the text content still carries it."""
    given = f'{{"resultType":"complete","content":[],"structuredContent":{value}}}'
    assert project(given, Era.MODERN, Era.LEGACY) == '{"content":[]}'
    assert f'"structuredContent":{value}' in project(given, Era.MODERN, Era.MODERN)


def test_values_keep_their_digits_and_spelling() -> None:
    """Nothing is decoded that is only carried."""
    value = '{"big":9223372036854775807123, "exact": 1.0, "huge":1e400,"text":"\\u00e9"}'
    for backend, caller in [(Era.LEGACY, Era.MODERN), (Era.MODERN, Era.LEGACY), (Era.MODERN, Era.MODERN)]:
        assert f'"structuredContent":{value}' in project(f'{{"structuredContent":{value}}}', backend, caller)


def test_backend_is_not_named_to_the_caller() -> None:
    """Each hop names itself; other metadata passes."""
    given = '{"resultType":"complete","content":[],"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"b"},"k":1}}'
    assert json.loads(project(given, Era.MODERN, Era.MODERN))["_meta"] == OURS | {"k": 1}


def test_request_for_input_passes_between_modern_hops_unread() -> None:
    """Its state and requests are the backend's and the client's business."""
    given = '{"resultType":"input_required","inputRequests":{"q":{"method":"elicitation/create"}},"requestState":"s"}'
    result = json.loads(project(given, Era.MODERN, Era.MODERN))
    assert {key: result[key] for key in ("resultType", "requestState")} == {
        "resultType": "input_required",
        "requestState": "s",
    }


def test_request_for_input_is_an_error_for_legacy() -> None:
    """There is no bridge for it yet, and an empty success would be a lie."""
    with pytest.raises(McpError) as refused:
        project('{"resultType":"input_required","requestState":"s"}', Era.MODERN, Era.LEGACY)
    assert refused.value.code == -32603


def test_result_that_is_no_object_is_an_error() -> None:
    """A backend may answer anything."""
    with pytest.raises(McpError) as refused:
        project("[]", Era.LEGACY, Era.MODERN)
    assert refused.value.code == -32603


@pytest.mark.parametrize(
    ("code", "caller", "mapped"),
    [
        (-32602, Era.MODERN, -32602),
        (-32000, Era.MODERN, -32000),
        (-32002, Era.MODERN, -32602),
        (-32042, Era.MODERN, -32603),
        (-32021, Era.MODERN, -32021),
        (-32020, Era.MODERN, -32603),
        (-32022, Era.MODERN, -32603),
        (-32002, Era.LEGACY, -32002),
        (-32042, Era.LEGACY, -32042),
        (-32020, Era.LEGACY, -32603),
    ],
)
def test_error_code_is_one_the_caller_may_see(code: int, caller: Era, mapped: int) -> None:
    """Codes a revision forbids, and faults of our own hop, are mapped with the original beside them."""
    data: Any = {"why": 1}
    error = project_error(McpError(code, "m", data), caller)
    assert error.code == mapped
    expected = data if mapped == code else {"original": {"code": code, "message": "m", "data": data}}
    assert error.data == expected
