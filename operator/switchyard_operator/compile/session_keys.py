"""Keys that sign the ids of legacy sessions, so that every replica of a gateway knows the sessions of the others.

A key says when it was made, in its first eight bytes, so that nothing has to be remembered beside the Secret that holds it. Two are
enough, the one that signs and one more that is accepted:

1. A gateway that has none gets one, which signs at once.
2. When the newest is :data:`LIFETIME_S` old another is made, in place of the older of two: its sessions have expired long ago.
3. A new key is accepted before it signs, for :data:`ADOPTION_S`: until every replica has read it, none may sign with it, or the
   others would not know those sessions.
4. Whoever removes the keys from the Secret, or the Secret, ends all sessions; new keys are made.
"""

from collections.abc import Iterable, Mapping
from typing import Final

SESSION_KEY_PREFIX: Final = "cred_session-"
"""How files with these keys are called, and no others."""
LIFETIME_S: Final = 7 * 24 * 3600
"""Longer than a session lives (a day)."""
ADOPTION_S: Final = 3600
"""Longer than a kubelet takes to bring a changed Secret to a pod."""

_STAMP_BYTES: Final = 8
_RANDOM_BYTES: Final = 32


def session_key(made_at_s: int, random: bytes) -> bytes:
    """A key of 32 random bytes, made at this moment (Unix seconds)."""
    if len(random) != _RANDOM_BYTES:
        raise ValueError(f"{_RANDOM_BYTES} random bytes are needed")
    return made_at_s.to_bytes(_STAMP_BYTES, "big") + random


def session_keys(held: Iterable[bytes], fresh: bytes) -> tuple[bytes, ...]:
    """The one or two keys to use now, the one that signs first, given those that are held.

    ``fresh`` is a key made now; it is taken if one is due, and says what "now" is.
    """
    now = _made_at_s(fresh)
    # One from the far future is a clock's mistake, or somebody's: it would sign for ever.
    keys = sorted(key for key in held if _is_key(key) and _made_at_s(key) <= now + ADOPTION_S)[-2:]
    if not keys or now - _made_at_s(keys[-1]) >= LIFETIME_S:
        keys = [*keys[-1:], fresh]
    *older, newest = keys
    if older and now - _made_at_s(newest) < ADOPTION_S:
        return (older[-1], newest)
    return (newest, *older)


def session_keys_in(files: Mapping[str, bytes]) -> tuple[bytes, ...]:
    """The keys among the files of a Secret."""
    return tuple(files[name] for name in sorted(files) if name.startswith(SESSION_KEY_PREFIX) and _is_key(files[name]))


def _is_key(content: bytes) -> bool:
    return len(content) == _STAMP_BYTES + _RANDOM_BYTES


def _made_at_s(key: bytes) -> int:
    return int.from_bytes(key[:_STAMP_BYTES], "big")
