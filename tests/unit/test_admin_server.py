"""Who may read ``/status``."""

import pytest

from switchyard_sidecar.admin.server import is_called_loopback, is_loopback


@pytest.mark.parametrize(
    ("address", "allowed"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("10.1.2.3", False),
        ("169.254.169.254", False),
        ("fe80::1%eth0", False),
        ("2001:db8::1", False),
        ("localhost", False),
        ("", False),
        (None, False),
    ],
)
def test_status_is_for_callers_of_this_machine_alone(address: str | None, allowed: bool) -> None:
    """By the peer's address; no name and no header counts."""
    assert is_loopback(address) is allowed


@pytest.mark.parametrize(
    ("host", "allowed"),
    [
        ("localhost:8812", True),
        ("LocalHost", True),
        ("127.0.0.1:8812", True),
        ("[::1]:8812", True),
        ("localhost.evil.example:8812", False),
        ("127.0.0.1.evil.example", False),
        ("evil.example", False),
        ("10.1.2.3:8812", False),
        ("", False),
    ],
)
def test_status_is_not_for_pages_of_other_sites(host: str, allowed: bool) -> None:
    """A page whose name was made to mean 127.0.0.1 still comes under that name."""
    assert is_called_loopback(host) is allowed
