"""What is remembered of requests, for how long, and at what cost."""

from dataclasses import replace

import pytest

from switchyard_sidecar.downstream.express import ANSWER_BYTES, REQUEST_BYTES, Asked, Express, Verdict, read

NOW = 1_000.0
HERE = ("127.0.0.1", 8811)
HEAD = b"POST /mcp HTTP/1.1\r\nX: y"
BODY = b'{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}'
REQUEST = HEAD + b"\r\n\r\n" + BODY


def request(number: int) -> bytes:
    """One of many that differ in a header."""
    return REQUEST.replace(b"X: y", b"X: %d" % number)


def verdict(name: bytes = b"list") -> Verdict:
    """An answer that says what it was asked, in whose words."""
    return Verdict((("Vary", "Origin"),), lambda id_, most_bytes: (id_, b"%d" % most_bytes, name))


def answered(express: Express, text: bytes, address: object = HERE) -> bool:
    """Whether a request is answered."""
    asked = read(text)
    return asked is not None and express.answer(address, asked, NOW) is not None


def test_what_was_learnt_is_answered_with_the_id_of_the_moment() -> None:
    """By the same headers and the same writer, who is told how much may be written."""
    express = Express(8)
    express.learn(0, HERE, REQUEST, verdict())
    asked = read(REQUEST.replace(b'"id":1', b'"id":7'))
    assert asked == Asked((HEAD, len(BODY), b"{}"), b"7")
    answer = express.answer(HERE, asked, NOW)
    assert answer == ((("Vary", "Origin"),), (b"7", b"%d" % ANSWER_BYTES, b"list"))
    assert express.answered == 1


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(REQUEST.replace(b"X: y", b"X: z"), id="another head"),
        pytest.param(REQUEST.replace(b"{}", b"{ }"), id="other params"),
        pytest.param(REQUEST + b" ", id="a longer body"),
        pytest.param(REQUEST.replace(b'"id":1', b'"id":12'), id="a longer id"),
    ],
)
def test_other_words_are_another_request(other: bytes) -> None:
    """However little differs."""
    express = Express(8)
    express.learn(0, HERE, REQUEST, verdict())
    assert answered(express, REQUEST)
    assert not answered(express, other)
    assert not answered(express, REQUEST, ("127.0.0.2", 8811))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(BODY, id="no head"),
        pytest.param(REQUEST.replace(b"tools/list", b"tools/call"), id="another method"),
        pytest.param(REQUEST.replace(b"tools/list", b'ping","x":"tools/list'), id="another method, and these words"),
        pytest.param(REQUEST.replace(b'"tools/list"', b'"tools\\/list"'), id="a method that is written otherwise"),
        pytest.param(REQUEST.replace(b'"id":1,', b""), id="a notification"),
        pytest.param(REQUEST.replace(b'"id":1', b'"id":null'), id="no id"),
        pytest.param(REQUEST.replace(b',"params":{}', b""), id="no params"),
        pytest.param(REQUEST.replace(b"{}", b"[]"), id="params that are none"),
        pytest.param(REQUEST.replace(b"2.0", b"1.0"), id="another JSON-RPC"),
        pytest.param(REQUEST.replace(BODY, b"[%b]" % BODY), id="a batch"),
        pytest.param(REQUEST + REQUEST, id="two requests"),
        pytest.param(REQUEST[:-1], id="half a request"),
        pytest.param(REQUEST.replace(b"{}", b'{"x":"\xff"}'), id="no UTF-8"),
        pytest.param(REQUEST.replace(b"y", b"y" * REQUEST_BYTES), id="a large request"),
    ],
)
def test_what_is_no_ordinary_list_request_is_passed_over(text: bytes) -> None:
    """It is neither learnt nor answered."""
    assert read(text) is None
    express = Express(8)
    express.learn(0, HERE, text, verdict())
    assert not answered(express, text)


def test_no_verdict_outlives_the_token_that_it_rests_on() -> None:
    """Up to its last moment it holds; from then on the ordinary way must look, also if clocks go back."""
    express = Express(8)
    express.learn(0, HERE, REQUEST, replace(verdict(), until=NOW))
    asked = read(REQUEST)
    assert asked is not None
    assert express.answer(HERE, asked, NOW - 0.001) is not None
    assert express.answer(HERE, asked, NOW) is None
    assert express.answer(HERE, asked, NOW - 0.001) is None


def test_forgetting_forgets_what_is_being_found_out_too() -> None:
    """What came under an earlier edition is not learnt under a later one."""
    express = Express(8)
    came = express.edition
    express.learn(came, HERE, REQUEST, verdict())
    express.forget()
    assert not answered(express, REQUEST)
    express.learn(came, HERE, REQUEST, verdict())
    assert not answered(express, REQUEST)
    express.learn(express.edition, HERE, REQUEST, verdict())
    assert answered(express, REQUEST)


def test_memory_is_bounded_and_who_asks_steadily_stays() -> None:
    """A client that sends other words each time pushes out its own, not those that are asked again and again."""
    express = Express(8)
    express.learn(0, HERE, REQUEST, verdict())
    for number in range(1_000):
        express.learn(0, HERE, request(number), verdict())
        assert answered(express, REQUEST)
    assert [number for number in range(1_000) if answered(express, request(number))] == list(range(993, 1_000))


def test_what_cannot_be_written_now_is_left_to_the_ordinary_way() -> None:
    """And not counted; it is still known later."""
    ready: list[bytes] = []
    express = Express(8)
    express.learn(0, HERE, REQUEST, Verdict((), lambda _, __: tuple(ready) or None))
    assert not answered(express, REQUEST)
    assert express.answered == 0
    ready.append(b"list")
    assert answered(express, REQUEST)


def test_nothing_is_remembered_where_nothing_may_be() -> None:
    """A bound of none is none."""
    express = Express(0)
    express.learn(0, HERE, REQUEST, verdict())
    assert not answered(express, REQUEST)
