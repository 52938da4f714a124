"""The scanner finds what is there: otherwise that it finds nothing would mean nothing."""

import base64
from urllib.parse import quote

import pytest

from integration.secrecy.scanner import Scanner

TOKEN = b"t0ken/of+a-caller==7f3a"
JWT = b"eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhbGljZSIsImF1ZCI6ImEifQ.c2lnbmF0dXJlLW9mLWFsaWNl"
PEM = b"-----BEGIN PRIVATE KEY-----\nMIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg\nqTbYvTwrl7IYuKnZ\n-----END PRIVATE KEY-----\n"
SCANNER = Scanner({"token": TOKEN, "jwt": JWT, "key": PEM})


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("token", TOKEN),
        ("token", b'{"Authorization": "Bearer t0ken\\/of+a-caller==7f3a"}'),
        ("token", quote(TOKEN.decode(), safe="").encode()),
        ("token", TOKEN[:16] + b"..."),
        ("token", TOKEN.hex().encode()),
        *(("token", base64.b64encode(b"x" * before + TOKEN + b"y" * after)) for before in range(3) for after in range(3)),
        *(("token", base64.urlsafe_b64encode(b"x" * before + TOKEN)) for before in range(3)),
        ("jwt", b"claims: " + JWT.split(b".")[1]),
        ("jwt", b"signature: " + JWT.split(b".")[2]),
        ("key", PEM.replace(b"\n", b"\\n")),
        ("key", b"qTbYvTwrl7IYuKnZ"),
    ],
)  # fmt: skip
def test_a_credential_is_found_however_it_is_written(name: str, written: bytes) -> None:
    """And it is said which one, and where."""
    found = SCANNER.find({"log": b"before " + written + b" after", "status": b"{}"})
    assert {each.split(":")[0] for each in found} == {f"{name} in log"}


def test_nothing_is_found_where_nothing_is() -> None:
    """Other tokens, and names of credentials, are none."""
    assert (
        SCANNER.find({"log": b"cred_token Bearer t0ken of another -----BEGIN CERTIFICATE----- eyJhbGciOiJSUzI1NiJ9"})
        == []
    )


def test_what_is_expected_is_not_told() -> None:
    """A backend gets its own credential."""
    assert SCANNER.find({"requests": TOKEN}, expected=["token"]) == []
