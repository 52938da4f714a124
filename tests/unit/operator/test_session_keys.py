"""Keys of legacy sessions: who signs, who is accepted, and when that changes."""

import pytest

from switchyard_operator.compile.session_keys import session_key, session_keys, session_keys_in

NOW = 2_000_000_000
HOUR = 3600
DAY = 24 * HOUR


def key(age_s: int, mark: bytes = b"k") -> bytes:
    """A key of this age."""
    return session_key(NOW - age_s, mark * 32)


FRESH = key(0, b"f")
"""A key that is made now, should one be needed."""


@pytest.mark.parametrize(
    ("held", "used"),
    [
        pytest.param((), (FRESH,), id="the first signs at once"),
        pytest.param((key(10),), (key(10),), id="it stays, however young"),
        pytest.param((key(7 * DAY - 1),), (key(7 * DAY - 1),), id="for a week"),
        pytest.param((key(7 * DAY),), (key(7 * DAY), FRESH), id="then another is accepted, and does not sign yet"),
        pytest.param((key(8 * DAY), key(HOUR - 1)), (key(8 * DAY), key(HOUR - 1)), id="for an hour"),
        pytest.param((key(8 * DAY), key(HOUR)), (key(HOUR), key(8 * DAY)), id="then it signs, the old one is accepted"),
        pytest.param((key(14 * DAY), key(7 * DAY)), (key(7 * DAY), FRESH), id="the oldest goes when a third is made"),
        pytest.param((key(9), key(99 * DAY), key(2 * DAY)), (key(2 * DAY), key(9)), id="of more, the newest two"),
        pytest.param((key(-60),), (key(-60),), id="made by one whose clock is a minute ahead"),
        pytest.param((key(-2 * HOUR),), (FRESH,), id="from the future"),
        pytest.param((b"somebody's", b""), (FRESH,), id="what is no key"),
    ],
)
def test_which_keys_are_used(held: tuple[bytes, ...], used: tuple[bytes, ...]) -> None:
    """The first signs; the order in which they are found does not matter."""
    assert session_keys(held, FRESH) == used
    assert session_keys(reversed(held), FRESH) == used
    assert session_keys(used, FRESH) == used, "a second look changes nothing"


def test_no_session_is_lost_while_keys_change() -> None:
    """Looked at each quarter of an hour for a month: a session's key is accepted for a day and more, and before anyone signs with it."""
    held: tuple[bytes, ...] = ()
    accepted_since: dict[bytes, int] = {}
    signed_last: dict[bytes, int] = {}
    for now in range(NOW, NOW + 30 * DAY, HOUR // 4):
        used = session_keys(held, session_key(now, b"r" * 32))
        for gone in set(held) - set(used):
            assert now - signed_last[gone] > 2 * DAY
        for each in used:
            accepted_since.setdefault(each, now)
        if held:
            assert used[0] == held[0] or now - accepted_since[used[0]] >= HOUR
        signed_last[used[0]] = now
        held = used
    assert len(accepted_since) == 5


def test_only_keys_are_taken_from_a_secret() -> None:
    """Other credentials lie beside them."""
    files = {"cred_key": b"k" * 32, "cred_session-a": key(1), "cred_session-b": b"spoilt", "cred_other": key(2)}
    assert session_keys_in(files) == (key(1),)


def test_a_key_needs_all_its_random_bytes() -> None:
    """A shorter one would be a weak one."""
    with pytest.raises(ValueError, match="32 random bytes"):
        session_key(NOW, b"short")
