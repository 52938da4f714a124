"""Messages as bytes: what nobody needs to understand stays as it was written, and what cannot be read is said so."""

import msgspec
import pytest

from switchyard_sidecar.protocol.errors import INVALID_REQUEST, PARSE_ERROR, McpError
from switchyard_sidecar.protocol.jsonrpc import MAX_BATCH, decode_batch, members


def test_batch_is_split_into_the_texts_of_its_messages() -> None:
    """Each message stays as it was written."""
    assert decode_batch(b' [ {"a" : 1} ,2]') == [b'{"a" : 1}', b"2"]
    assert len(decode_batch(b"[" + b"{}," * (MAX_BATCH - 1) + b"{}]")) == MAX_BATCH


@pytest.mark.parametrize(
    ("body", "code"),
    [
        pytest.param(b"[]", INVALID_REQUEST, id="empty"),
        pytest.param(b"[" + b"1," * MAX_BATCH + b"1]", INVALID_REQUEST, id="one too many"),
        pytest.param(b"[1", PARSE_ERROR, id="cut off"),
        pytest.param(b"[" * 5_000 + b"]" * 5_000, PARSE_ERROR, id="nested very deep"),
    ],
)
def test_batch_that_cannot_be_served_is_refused_before_its_messages_are_read(body: bytes, code: int) -> None:
    """A body holds a million messages; reading each would hold up everybody else."""
    with pytest.raises(McpError) as refused:
        decode_batch(body)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "text", [b"[]", b"1", b"{", pytest.param(b'{"a":' * 5_000 + b"1" + b"}" * 5_000, id="nested very deep")]
)
def test_what_has_no_members_is_one_kind_of_error(text: bytes) -> None:
    """Nesting too deep to be read is an unreadable text, and no fault of ours."""
    with pytest.raises(msgspec.DecodeError):
        members(text)
