"""Taking one answer apart: a fault in one tool costs that tool, and an answer that is no list is never an empty one."""

import pytest

from switchyard_sidecar.catalog import listing
from switchyard_sidecar.catalog.definition import Rejection, parse_tool
from switchyard_sidecar.catalog.listing import ListPage, MalformedListError, split_array, split_message
from unit.catalog.samples import MAX_BYTES

MANY = 1_000
GOOD = b'{"name":"good","inputSchema":{"maximum":1e400}}'
DEEP = b'{"name":"deep","inputSchema":' + b'{"not":' * 10_000 + b"{}" + b"}" * 10_001


def split_tools_result(result: bytes) -> ListPage:
    """As for a backend that may have many tools."""
    return listing.split_tools_result(result, MANY)


def test_a_page_is_taken_apart_as_it_is_written() -> None:
    """Entries keep their bytes; the rest of the page is read."""
    result = (
        b'{"resultType":"complete","tools":[ {"a" : 1} ,' + GOOD + b' ],"nextCursor":"p\\u0032","ttlMs":300000,'
        b'"cacheScope":"public","_meta":{}}'
    )
    assert split_tools_result(result) == ListPage([b'{"a" : 1}', GOOD], "p2", 300_000, "public")


@pytest.mark.parametrize(
    "bad",
    [
        pytest.param(b"null", id="null"),
        pytest.param(b"7", id="number"),
        pytest.param(b'{"name":"bad"}', id="incomplete"),
        pytest.param(b'{"name":"bad","inputSchema":{"default":NaN}}', id="NaN"),
        pytest.param(b'{"name":"bad","inputSchema":{"title":"\\ud800"}}', id="lone surrogate"),
        pytest.param(b'{"name":"bad","title":"\xff","inputSchema":{}}', id="no UTF-8"),
        pytest.param(b'{"name":"bad","title":"\\x","inputSchema":{}}', id="bad escape"),
        pytest.param(b'{"name":"bad","name":"good","inputSchema":{}}', id="repeated key"),
        pytest.param(DEEP, id="ten thousand levels"),
    ],
)
def test_one_bad_entry_costs_that_entry_alone(bad: bytes) -> None:
    """Whatever one entry holds, its neighbours are found and accepted, in a whole message too."""
    message = b'{"jsonrpc":"2.0","id":1,"result":{"tools":[' + GOOD + b"," + bad + b"," + GOOD + b'],"nextCursor":"n"}}'
    page = split_tools_result(split_message(message)["result"])
    assert page.tools == [GOOD, bad, GOOD]
    assert page.next_cursor == "n"
    assert [isinstance(parse_tool(entry, max_bytes=MAX_BYTES), Rejection) for entry in page.tools] == [
        False,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("member", "cursor"),
    [(b"", None), (b',"nextCursor":null', None), (b',"nextCursor":""', ""), (b',"nextCursor":"p2"', "p2")],
)
def test_only_an_absent_or_null_cursor_is_none(member: bytes, cursor: str | None) -> None:
    """An empty string is a cursor; a null counts as absent."""
    assert split_tools_result(b'{"tools":[]' + member + b"}").next_cursor == cursor


@pytest.mark.parametrize("cursor", [b"0", b"false", b"{}", b'"\\ud800"', b'"\xff"'])
def test_a_cursor_that_is_no_text_is_no_end(cursor: bytes) -> None:
    """To take it for the end would lose the rest of the list silently."""
    with pytest.raises(MalformedListError, match="nextCursor"):
        split_tools_result(b'{"tools":[],"nextCursor":' + cursor + b"}")


@pytest.mark.parametrize(
    ("text", "ttl_ms"),
    [
        (b"0", 0),
        (b"300000", 300_000),
        (b"-1", -1),
        (b"true", None),
        (b"null", None),
        (b'"5"', None),
        (b"5.0", None),
        (b"1e3", None),
        (b"9" * 5_000, None),
    ],
)
def test_only_an_integer_is_a_time_to_live(text: bytes, ttl_ms: int | None) -> None:
    """Everything else counts as absent."""
    assert split_tools_result(b'{"tools":[],"ttlMs":' + text + b"}").ttl_ms == ttl_ms


@pytest.mark.parametrize(
    ("text", "scope"), [(b'"public"', "public"), (b'""', ""), (b'"team"', "team"), (b"null", None), (b"1", None)]
)
def test_the_scope_is_reported_as_it_is_said(text: bytes, scope: str | None) -> None:
    """Whether it means anything is decided elsewhere."""
    assert split_tools_result(b'{"tools":[],"cacheScope":' + text + b"}").cache_scope == scope


@pytest.mark.parametrize(
    "result", [b"{}", b'{"tools":null}', b'{"tools":{}}', b'{"tools":[1}', b'{"tools":[1,]}', b"[]", b"null", b"", b"{"]
)
def test_an_answer_without_a_list_is_no_empty_list(result: bytes) -> None:
    """A failure to read is an error, so that the last good list stays."""
    with pytest.raises(MalformedListError):
        split_tools_result(result)


@pytest.mark.parametrize("body", [b"", b"[]", b'{"result":', b"<html>", b'{"result":{"tools":[}}'])
def test_a_message_whose_outlines_are_broken_is_an_error(body: bytes) -> None:
    """Containment ends where nobody can tell where a part ends."""
    with pytest.raises(MalformedListError):
        split_message(body)


@pytest.mark.parametrize("count", [MANY, MANY + 1, 600_000])
@pytest.mark.parametrize("entry", [b"1", b"{}", b"NaN"])
def test_no_more_entries_are_made_than_are_wanted(entry: bytes, count: int) -> None:
    """One more than may be shows that there were too many; the rest would only cost memory."""
    result = b'{"x":0,"tools":[' + b",".join([entry] * count) + b'],"nextCursor":"n"}'
    page = split_tools_result(result)
    assert page.tools == [entry] * min(count, MANY + 1)
    assert page.next_cursor == "n"


@pytest.mark.parametrize("text", [b"{}", b"1", b"", b"[1", b"[1,]"])
def test_what_is_no_array_is_an_error(text: bytes) -> None:
    """It is never an empty one."""
    with pytest.raises(MalformedListError):
        split_array(text, MANY)


def test_only_the_wanted_members_of_a_message_are_kept() -> None:
    """A message may have millions that nobody asks for."""
    assert split_message(b'{"a":NaN,"b":[1],"c":2,"b":3}', only={"b"}) == {"b": b"3"}
