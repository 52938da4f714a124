"""JSON-RPC: any bytes are a message or an ``McpError``, and what is written can be read."""

import json

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from fuzz.texts import ODDITIES, budget, damaged, is_json, names, objects, outcome, scalars, values
from switchyard_sidecar.protocol import jsonrpc
from switchyard_sidecar.protocol.errors import McpError

TEXTS_OF_OBJECTS = st.dictionaries(names, values).map(lambda value: json.dumps(value).encode())
IDS = (names | st.integers()).map(lambda value: json.dumps(value).encode())
KEYS = st.sampled_from(
    [b'"jsonrpc"', b'"id"', b'"method"', b'"params"', b'"result"', b'"error"', b'"x"', b'"i\\u0064"']
)
MEMBER = st.tuples(
    KEYS, st.one_of(scalars, TEXTS_OF_OBJECTS, IDS, st.sampled_from([b'"2.0"', b'"tools/list"', *ODDITIES]))
)
MESSAGES = st.one_of(
    objects(st.lists(MEMBER)),
    objects(st.lists(MEMBER).map(lambda members: [(b'"jsonrpc"', b'"2.0"'), *members])),
    st.builds(jsonrpc.request, st.integers(), names, TEXTS_OF_OBJECTS),
    st.builds(jsonrpc.notification, names, TEXTS_OF_OBJECTS),
    st.builds(jsonrpc.result_response, IDS, TEXTS_OF_OBJECTS),
)


@budget
@given(st.binary() | scalars | MESSAGES | damaged(MESSAGES))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    """There is no third way; and what is let pass raw is fit to be sent on."""
    judge(body)


def judge(body: bytes) -> None:
    """Read what may be a message."""
    message = outcome(lambda: jsonrpc.decode(body))
    if isinstance(message, McpError):
        assert message.code in {-32700, -32600}
        assert is_json(jsonrpc.error_response(getattr(message, "request_id", None), message))
        return
    assert message.id is None or isinstance(json.loads(message.id), str | int)
    assert message.params is None or message.params.startswith(b"{")
    assert message.is_request + message.is_notification + (message.method is None) == 1


@budget
@given(st.integers(), names, TEXTS_OF_OBJECTS)
def test_a_request_that_is_written_can_be_read(request_id: int, method: str, params: bytes) -> None:
    """All its parts come back, the parameters byte for byte."""
    message = jsonrpc.decode(jsonrpc.request(request_id, method, params))
    assert (message.id, message.method, message.params) == (str(request_id).encode(), method, params)
    message = jsonrpc.decode(jsonrpc.notification(method, params))
    assert (message.id, message.method, message.params) == (None, method, params)


@budget
@given(IDS, TEXTS_OF_OBJECTS, names, st.integers(), values)
def test_a_response_that_is_written_can_be_read(
    request_id: bytes, result: bytes, said: str, code: int, data: object
) -> None:
    """Id and result come back byte for byte, an error with what it says."""
    message = jsonrpc.decode(jsonrpc.result_response(request_id, result))
    assert (message.id, message.result, message.error) == (request_id, result, None)
    message = jsonrpc.decode(jsonrpc.error_response(request_id, McpError(code, said, data)))
    assert (message.id, message.result) == (request_id, None)
    expected = {"code": code, "message": said} | ({} if data is None else {"data": data})
    assert json.loads(message.error or b"") == expected


@budget
@given(st.binary() | damaged(st.lists(MESSAGES | scalars).map(lambda parts: b"[" + b",".join(parts) + b"]")))
def test_any_bytes_are_a_batch_or_refused(body: bytes) -> None:
    """What comes out of a batch are texts, each a message or refused."""
    texts = outcome(lambda: jsonrpc.decode_batch(body))
    if isinstance(texts, McpError):
        assert texts.code in {-32700, -32600}
        return
    assert jsonrpc.is_batch(body)
    for text in texts:
        judge(text)


@budget
@given(st.dictionaries(names, scalars.filter(is_json)))
def test_members_are_joined_into_what_they_were_taken_from(parts: dict[str, bytes]) -> None:
    """Taking an object apart and joining it are inverse; what is no object is refused in one way."""
    try:
        opened = jsonrpc.members(jsonrpc.joined(parts))
    except msgspec.DecodeError:
        assert any(part.count(b"[") > 250 or b"\\ud800" in part for part in parts.values())
        return
    assert {key: bytes(value) for key, value in opened.items()} == parts
