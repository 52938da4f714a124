"""Reading what backends write: tolerant where nothing is lost by it, and never mistaking a fault for an answer."""

import pytest

from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.protocol.jsonrpc import Message
from switchyard_sidecar.upstream.faults import Malformed
from switchyard_sidecar.upstream.inbox import error_of, parse, result_of


def response(message_id: bytes | None, result: bytes | None = None, error: bytes | None = None) -> Message:
    return Message(message_id, None, None, result, error)


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        pytest.param(b'{"jsonrpc":"2.0","id":1,"result":{}}', [response(b"1", b"{}")], id="a result"),
        pytest.param(
            b'{"jsonrpc":"2.0","id":null,"error":{"code":-1,"message":""}}',
            [response(None, error=b'{"code":-1,"message":""}')],
            id="an error with an id of null",
        ),
        pytest.param(
            b'[{"jsonrpc":"2.0","method":"a"},{"jsonrpc":"2.0","id":2,"result":{"b":1}}]',
            [Message(None, "a", None, None, None), response(b"2", b'{"b":1}')],
            id="a batch of 2025-03-26",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"result":{"tools":[NaN]}}',
            [response(b"1", b'{"tools":[NaN]}')],
            id="a result that holds what is no JSON",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"result":{"a":"\\ud800"}}',
            [response(b"1", b'{"a":"\\ud800"}')],
            id="a result that holds half a surrogate pair",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"result":{"a":"\xff"}}',
            [response(b"1", b'{"a":"\xff"}')],
            id="a result that holds bytes that are no UTF-8",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","id":1,"result":%b1%b}' % (b"[" * 100_000, b"]" * 100_000),
            [response(b"1", b"[" * 100_000 + b"1" + b"]" * 100_000)],
            id="a result that nests very deep",
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","method":"notifications/message","params":{"data":NaN}}',
            [],
            id="a notification that cannot be read",
        ),
        pytest.param(b'{"jsonrpc":"2.0","id":null,"method":"ping"}', [], id="a request that cannot be answered"),
    ],
)
def test_messages_are_read_tolerantly(text: bytes, messages: list[Message]) -> None:
    """A fault inside a result is for whoever reads the result; the message is an answer all the same."""
    assert parse(text) == messages


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"Bad Request: no session",
        b"<!DOCTYPE html><title>Log in</title>",
        b"null",
        b"[]",
        b"[1]",
        b"{}",
        b'{"jsonrpc":"2.0","id":1}',
        b'{"id":1,"result":{}}',
        b'{"jsonrpc":"2.0","id":1,"result":{},"error":{}',
        b'{"jsonrpc":"2.0","id":1,"result":{"tools":[}',
        b'{"jsonrpc":"2.0","id":1,"result":NaN,"error":{}}',
    ],
)
def test_what_is_no_message_is_a_fault(text: bytes) -> None:
    """Never an empty answer."""
    with pytest.raises(Malformed, match="answer is not JSON-RPC"):
        parse(text)


@pytest.mark.parametrize("result", [None, b"null", b'"x"', b"[]", b"1"])
def test_result_is_an_object(result: bytes | None) -> None:
    """Every result of MCP is."""
    with pytest.raises(Malformed):
        result_of(response(b"1", result))


def test_error_keeps_code_message_and_data_as_written() -> None:
    """The data is the caller's to read: digits beyond any number type come through."""
    with pytest.raises(McpError, match="größer") as raised:
        result_of(response(b"1", error='{"code":-32021,"message":"größer","data":{"n":1e400}}'.encode()))
    assert raised.value.code == -32021
    assert bytes(raised.value.data) == b'{"n":1e400}'


@pytest.mark.parametrize(
    "text",
    [
        b"{}",
        b'{"code":"x","message":""}',
        b"1",
        b'{"code":1.5}',
        b'{"code":1,"message":2}',
        pytest.param(b'{"code":%b,"message":""}' % (b"9" * 400), id="a code of 400 digits"),
        b'{"code":1,"message":"","data":NaN}',
        b'{"code":1,"message":"","data":"\xff"}',
        pytest.param(b'{"code":1,"data":%b1%b}' % (b"[" * 20_000, b"]" * 20_000), id="data that nests very deep"),
    ],
)
def test_what_is_no_error_is_a_fault(text: bytes) -> None:
    """An error has an integer for a code, and a text; its data goes to a client, which must be able to read it."""
    with pytest.raises(Malformed):
        error_of(text)
