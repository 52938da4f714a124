"""Self-describing session ids."""

import pytest

from switchyard_sidecar.downstream.sessions import LIFETIME_S, REMEMBERED, Session, Sessions
from switchyard_sidecar.protocol.errors import McpError

KEY, OTHER = b"k" * 32, b"o" * 32
IDENTITY = bytes(range(16))
NOW = 1_800_000_000


def make(sessions: Sessions, principal: str = "alice") -> str:
    return sessions.create("2025-06-18", principal=principal, identity=IDENTITY, now=NOW)


def refused(sessions: Sessions, text: str, principal: str = "alice", now: int = NOW) -> bool:
    with pytest.raises(McpError) as fault:
        sessions.open(text, principal=principal, now=now)
    return fault.value.status == 404


def test_session_made_by_one_replica_is_known_to_another() -> None:
    """They share the key and nothing else."""
    text = make(Sessions((KEY,)))
    assert Sessions((KEY,)).open(text, principal="alice", now=NOW + 5) == Session(IDENTITY.hex(), "2025-06-18", NOW)


def test_session_survives_one_rotation_of_the_key() -> None:
    """The previous key still checks, the current one signs."""
    text = make(Sessions((OTHER,)))
    assert Sessions((KEY, OTHER)).open(text, principal="alice", now=NOW).version == "2025-06-18"
    assert refused(Sessions((KEY,)), text)


def test_session_id_is_visible_ascii() -> None:
    """2025-11-25 asks for 0x21 to 0x7E."""
    assert all(0x21 <= ord(character) <= 0x7E for character in make(Sessions((KEY,))))


def test_another_caller_cannot_use_it() -> None:
    """A session belongs to whoever made it."""
    assert refused(Sessions((KEY,)), make(Sessions((KEY,))), principal="mallory")


@pytest.mark.parametrize("age_s", [LIFETIME_S, LIFETIME_S * 10, -3600])
def test_expired_or_future_session_is_unknown(age_s: int) -> None:
    """Its client initializes again."""
    assert refused(Sessions((KEY,)), make(Sessions((KEY,))), now=NOW + age_s)


@pytest.mark.parametrize("position", range(0, 60, 7))
def test_altered_session_is_unknown(position: int) -> None:
    """Every part of it is signed."""
    text = make(Sessions((KEY,)))
    position %= len(text)
    altered = text[:position] + ("A" if text[position] != "A" else "B") + text[position + 1 :]
    assert refused(Sessions((KEY,)), altered)


@pytest.mark.parametrize("text", ["", "x", "not a session", "é", "A" * 5000, "====", "AAAA"])
def test_garbage_is_unknown(text: str) -> None:
    """404, so that the client makes a new session instead of failing for ever."""
    assert refused(Sessions((KEY,)), text)


def test_ended_session_is_unknown() -> None:
    """DELETE counts at once, although the id would still verify."""
    sessions = Sessions((KEY,))
    text = make(sessions)
    sessions.end(sessions.open(text, principal="alice", now=NOW))
    assert refused(sessions, text)


def test_what_is_remembered_is_bounded_and_may_be_lost() -> None:
    """However many sessions begin, the oldest one's convenience is forgotten and its id stays good."""
    sessions = Sessions((KEY,))
    first = Session(IDENTITY.hex(), "2025-06-18", NOW)
    sessions.state(first).log_level = "debug"
    for number in range(REMEMBERED):
        sessions.state(Session(f"{number:032x}f", "2025-06-18", NOW))
    assert sessions.state(first).log_level is None
    assert sessions.open(make(sessions), principal="alice", now=NOW) == first


def test_state_is_remembered_for_each_session() -> None:
    """A log level set in one request counts in the next."""
    sessions = Sessions((KEY,))
    session = sessions.open(make(sessions), principal="alice", now=NOW)
    sessions.state(session).log_level = "debug"
    assert sessions.state(session).log_level == "debug"
