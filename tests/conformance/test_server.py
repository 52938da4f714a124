"""The suite's server scenarios, asked of one server directly and through the gateway, check by check.

``expected_out.yaml`` says what is still lost on the way and why. It is exact: what is lost and not listed fails, and so
does what is listed and no longer lost.
"""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from conformance.expected_out import expected_out
from conformance.suite import Found, run, worse
from integration.matrix.gateways import manifests, running
from integration.matrix.programs import Counterparts, Program

SERVER: Final = Program("python/mcp2", ("python/conformance_server.py",))
REVISIONS: Final = ("2026-07-28", "2025-11-25")


@pytest.fixture(scope="session")
def directly(conformance_server: str, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Found]:
    """What the suite finds at the server itself, for a revision."""

    @cache
    def find(revision: str) -> Found:
        arguments = ("server", "--url", conformance_server, "--requirements", revision)
        return run(arguments, tmp_path_factory.mktemp(revision)).found

    return find


@pytest.fixture(scope="session")
def conformance_server(counterparts: Counterparts) -> str:
    """The URL of the server that the scenarios ask for; it speaks both eras."""
    return counterparts.server(SERVER)


@pytest.mark.timeout(180)
@pytest.mark.parametrize("backend", ["Modern", "Legacy"])
@pytest.mark.parametrize("revision", REVISIONS)
def test_nothing_is_lost_on_the_way_but_what_the_list_says(
    revision: str, backend: str, conformance_server: str, directly: Callable[[str], Found], tmp_path: Path
) -> None:
    """Whichever revision the suite speaks, and whichever era the gateway speaks with the server."""
    manifest = tmp_path / "gateway.yaml"
    manifest.write_text(manifests({"conformance": {"url": conformance_server, "protocol": backend}}))
    with running(manifest, tmp_path / "gateway.log") as gateway:
        through = run(("server", "--url", gateway.url, "--requirements", revision), tmp_path / "results").found
    asked = {key.partition("/")[0] for key in directly(revision)}
    listed = expected_out("server", {"revision": revision, "backend": backend})
    assert worse(directly(revision), through) == {key for key in listed if key.partition("/")[0] in asked}
