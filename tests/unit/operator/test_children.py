"""The two objects that carry a gateway's config in a cluster."""

import base64
import gzip
import random

import pytest

from switchyard_operator.api.resource import Key
from switchyard_operator.compile.children import TooLarge, config_map, secret

MAIN = Key("agents", "main")
KIB = 1024


def noise(size: int) -> bytes:
    """Text that hardly gets smaller."""
    return base64.b64encode(random.Random(1).randbytes(size))[:size]


def test_both_say_whose_they_are() -> None:
    """Labels for watches, the owner for garbage collection; it does not hold up the owner's deletion."""
    for child in (config_map(MAIN, b"{}", "uid-1"), secret(MAIN, {}, "uid-1")):
        assert child["metadata"] == {
            "name": "switchyard-main",
            "namespace": "agents",
            "labels": {
                "app.kubernetes.io/managed-by": "switchyard",
                "switchyard.dev/config-of": "main",
                "switchyard.dev/credential": "child",
            },
            "ownerReferences": [
                {
                    "apiVersion": "switchyard.dev/v1alpha1",
                    "kind": "MCPGateway",
                    "name": "main",
                    "uid": "uid-1",
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        }
    assert "ownerReferences" not in config_map(MAIN, b"{}")["metadata"]


@pytest.mark.parametrize(("size", "plain"), [(900 * KIB, True), (900 * KIB + 1, False)])
def test_a_large_config_is_compressed(size: int, plain: bool) -> None:
    """The same bytes give the same object, whenever it is made."""
    content = b"x" * size
    child = config_map(MAIN, content)
    assert child == config_map(MAIN, content)
    if plain:
        assert child["data"] == {"gateway.json": content.decode()}
        assert "binaryData" not in child
    else:
        compressed = base64.b64decode(child["binaryData"]["gateway.json.gz"])
        assert gzip.decompress(compressed) == content
        assert compressed[4:8] == b"\0\0\0\0", "no time in it"
        assert "data" not in child


@pytest.mark.parametrize("content", [noise(1300 * KIB), b"x" * (16 * 1024 * KIB + 1)])
def test_a_config_that_sidecars_or_the_api_server_would_refuse_is_too_large(content: bytes) -> None:
    """Compressed over 900 KiB, or over 16 MiB when it is not."""
    with pytest.raises(TooLarge, match=f"config comes to {len(content)} bytes"):
        config_map(MAIN, content)


def test_credentials_fit_into_one_secret_or_are_too_large() -> None:
    """All values together, 1 MiB."""
    half = b"x" * (512 * KIB)
    assert sorted(secret(MAIN, {"cred_b": half, "cred_a": half})["data"]) == ["cred_a", "cred_b"]
    with pytest.raises(TooLarge, match="credentials come to 1048577 bytes"):
        secret(MAIN, {"cred_a": half, "cred_b": half, "cred_c": b"x"})
