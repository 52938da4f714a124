"""The images themselves: how large they are, what is in them, and that the same sources give the same bytes."""

import json
from typing import Any, Final

import pytest

from e2e.images import OPERATOR, SIDECAR, build_target, inspected
from e2e.kind import run

SIDECAR_BYTES: Final = 120_000_000
"""The most that the sidecar may take on a node, unpacked: there is one in every pod, and pods wait for it on a new node."""
PYTHON: Final = "/opt/switchyard/bin/python"

IMPORTS: Final = """
import importlib, json, pkgutil, sys
for package in sys.argv[1:]:
    for found in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
        importlib.import_module(found.name)
def checked(module):
    with open(module.__cached__, "rb") as file:
        return file.read(8)[4:] != b"\\1\\0\\0\\0"
compiled = [each for each in list(sys.modules.values()) if getattr(each, "__cached__", None)]
print(json.dumps([len(compiled), [each.__name__ for each in compiled if checked(each)]]))
"""
"""Imports every module of packages; says how many modules have bytecode, and which of them it would compare with their source."""

SIZE: Final = """
import os
def size(folder):
    return sum(size(each) if each.is_dir(follow_symlinks=False) else each.stat(follow_symlinks=False).st_size for each in os.scandir(folder))
print(sum(size(each) for each in os.scandir("/") if each.is_dir(follow_symlinks=False) and each.name not in ("proc", "sys", "dev")))
"""
"""Bytes of the image's own files."""

LOOKS: Final = """
import getpass, json, os, ssl
programs = {name for folder in ("/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin") if os.path.isdir(folder) for name in os.listdir(folder)}
authorities = ssl.create_default_context().cert_store_stats()["x509_ca"]
print(json.dumps([sorted(programs), os.getuid(), getpass.getuser(), authorities > 100]))
"""


def python(tag: str, program: str, *arguments: str) -> Any:
    """What a program says that the image's Python runs as in a pod: nothing can be written, nobody be reached."""
    confined = ("--read-only", "--network=none", "--cap-drop=ALL")
    return json.loads(run("docker", "run", "--rm", *confined, "--entrypoint", PYTHON, tag, "-c", program, *arguments))


@pytest.mark.usefixtures("built")
def test_the_sidecar_is_small() -> None:
    """Unpacked, with its Python. Its files are counted: what engines call the size of an image may be that of what they pulled."""
    assert python(SIDECAR, SIZE) <= SIDECAR_BYTES


@pytest.mark.usefixtures("built")
def test_both_stand_on_the_same_layer() -> None:
    """A node that has one of them has Python already, and an upgrade brings what is Switchyard's alone."""
    operator, sidecar = (inspected(tag)["RootFS"]["Layers"] for tag in (OPERATOR, SIDECAR))
    assert (len(operator), len(sidecar)) == (2, 2)
    assert operator[0] == sidecar[0]


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize(
    ("tag", "packages"),
    [(SIDECAR, ["switchyard_sidecar"]), (OPERATOR, ["switchyard_operator", "switchyard_sidecar"])],
    ids=["sidecar", "operator"],
)
def test_nothing_that_is_imported_is_missing_or_compiled_at_the_start(tag: str, packages: list[str]) -> None:
    """Every module of ours is imported. All bytecode is there, and is used as it is."""
    compiled, checked = python(tag, IMPORTS, *packages)
    assert compiled > 300
    assert checked == []


@pytest.mark.usefixtures("built")
@pytest.mark.parametrize("tag", [SIDECAR, OPERATOR], ids=["sidecar", "operator"])
def test_there_is_nothing_but_python(tag: str) -> None:
    """No shell and no pip; a user with a name; authorities that TLS trusts."""
    programs, uid, user, trusted = python(tag, LOOKS)
    assert [name for name in programs if not name.startswith("python3")] == []
    assert (uid, user, trusted) == (65532, "nonroot", True)


@pytest.mark.usefixtures("built")
def test_the_same_sources_give_the_same_layers() -> None:
    """Built again, from nothing."""
    build_target("sidecar", again := f"{SIDECAR}-again", "--no-cache")
    assert inspected(again)["RootFS"]["Layers"] == inspected(SIDECAR)["RootFS"]["Layers"]
