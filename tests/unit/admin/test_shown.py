"""How the sidecar's values look in JSON."""

from dataclasses import dataclass, field

from switchyard_sidecar.admin.shown import shown


@dataclass(frozen=True, slots=True)
class Inner:
    some_count: int = 3


@dataclass(frozen=True, slots=True)
class Outer:
    last_error: str | None = None
    last_success_at: float | None = 1_800_000_000.25
    next_attempt_at: float | None = None
    parts: tuple[Inner, ...] = field(default=(Inner(), Inner(4)))


def test_keys_are_camel_case_and_moments_rfc_3339() -> None:
    """One spelling throughout, and times that a person can read."""
    assert shown(Outer()) == {
        "lastError": None,
        "lastSuccessAt": "2027-01-15T08:00:00.250+00:00",
        "nextAttemptAt": None,
        "parts": [{"someCount": 3}, {"someCount": 4}],
    }
