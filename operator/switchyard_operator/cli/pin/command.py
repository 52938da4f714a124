"""The command: backends asked, a diff on standard output, and with ``--write`` the files changed so."""

import argparse
import asyncio
import codecs
import difflib
import os
import shutil
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

import yaml

from switchyard_operator.api.backend import MCPBackend, PinnedDigest
from switchyard_operator.api.gateway import BackendEntry
from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.cli.inputs import describe
from switchyard_operator.cli.looks import described
from switchyard_operator.cli.pin.edit import CannotEdit, Edit, applied, pin
from switchyard_operator.cli.pin.listed import Listed, NotPinnable, listed
from switchyard_operator.cli.unusable import UnusableInput
from switchyard_operator.compile.backends import BackendCompiler, Section
from switchyard_operator.compile.members import Member
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Severity
from switchyard_operator.manifests.load import Manifests, load
from switchyard_operator.manifests.sources import Source, Sources
from switchyard_sidecar.catalog import lookalikes

MAX_NAMED: Final = 20
"""Tools that are not listed, and look-alikes, named for one backend."""


def run(arguments: argparse.Namespace) -> int:
    """Print the diff, or write it. Exit code 1 with ``--check`` where there is one.

    Raises :class:`UnusableInput` when a backend is not known, cannot be listed, or cannot be written to: then nothing is written.
    """
    sources = {each.name: each for each in Sources.of(arguments.files).read()}
    manifests = load(sources.values())
    if manifests.faults:
        raise UnusableInput(f"error: {fault}" for fault in manifests.faults)
    sections = _sections(manifests, _chosen(manifests, arguments.backends))
    found = asyncio.run(listed(sections))
    if failed := {key: each for key, each in found.items() if isinstance(each, NotPinnable)}:
        raise UnusableInput(f"error: MCPBackend {key}: {error}; nothing is written" for key, error in failed.items())
    lists = {key: each for key, each in found.items() if isinstance(each, Listed)}
    changed = _changed(manifests, sources, lists)
    if arguments.write:
        _write(sources, changed)
    for name, (before, after) in changed.items():
        sys.stdout.writelines(_diff(name, before, after))
    for key, each in lists.items():
        for line in _said(manifests.objects.backends[key], each):
            print(line, file=sys.stderr)  # noqa: T201
    return 1 if arguments.check and changed else 0


def _chosen(manifests: Manifests, wanted: list[Key] | None) -> list[Key]:
    declared = sorted(manifests.objects.backends)
    if not declared:
        raise UnusableInput(["error: there is no MCPBackend in these files; name more files with -f"])
    if absent := sorted(set(wanted or ()).difference(declared)):
        there = ", ".join(map(str, declared))
        raise UnusableInput(f"error: there is no MCPBackend {key} in these files; there is {there}" for key in absent)
    return [key for key in declared if not wanted or key in wanted]


def _sections(manifests: Manifests, chosen: list[Key]) -> dict[Key, Section]:
    """Each backend as a gateway beside it would be told of it."""
    sections, refused = {}, []
    for key in chosen:
        compiler = BackendCompiler(manifests.objects, Key(key.namespace, ""), cluster=False, revision_key=None)
        section = compiler.section(Member(key, BackendEntry(name=key.name), ()), "")
        sections[key] = section
        refused += [describe(each, manifests) for each in section.reports if each.severity is Severity.ERROR]
        if manifests.objects.backends[key].spec.auth.type == "Forward":
            refused.append(
                f"error: MCPBackend {key}: lists its tools to callers with a token of their own: pin it by hand, and see how many "
                "callers' lists agree by the sidecar's metric switchyard_backend_callers_as_pinned"
            )
    if refused:
        raise UnusableInput(refused)
    return sections


def _changed(
    manifests: Manifests, sources: Mapping[str, Source], lists: Mapping[Key, Listed]
) -> dict[str, tuple[str, str]]:
    """By file that is to change: its text before and after."""
    edits = defaultdict[str, list[Edit]](list)
    texts = {name: source.content.decode("utf-8-sig") for name, source in sources.items()}
    for key, each in lists.items():
        if _pins(manifests.objects.backends[key]) == each.digests:
            continue
        document = manifests.origins[Ref("MCPBackend", *key)]
        assert isinstance(document.node, yaml.MappingNode)  # noqa: S101 - it was read as an object
        try:
            edits[document.file].append(pin(texts[document.file], document.node, each.digests))
        except CannotEdit as error:
            raise UnusableInput(
                [f"error: {document.place(('spec',))}: MCPBackend {key}: {error}; nothing is written"]
            ) from None
    changed = {name: (texts[name], applied(texts[name], each)) for name, each in edits.items()}
    _check(manifests, sources, changed, lists)
    return changed


def _check(
    manifests: Manifests,
    sources: Mapping[str, Source],
    changed: Mapping[str, tuple[str, str]],
    lists: Mapping[Key, Listed],
) -> None:
    """See that the new texts say what the old ones did, but for the pins."""
    texts = {name: after.encode() for name, (_, after) in changed.items()}
    again = load(replace(source, content=texts.get(name, source.content)) for name, source in sources.items())
    backends = [
        each if key not in lists or _pins(each) == lists[key].digests else _with_pins(each, lists[key].digests)
        for key, each in manifests.objects.backends.items()
    ]
    if again.faults or again.objects != replace(manifests.objects, backends=Objects.of(backends).backends):
        names = ", ".join(changed)
        raise UnusableInput([f"error: {names}: written in a way that pins cannot be added to; nothing is written"])


def _pins(backend: MCPBackend) -> dict[str, str]:
    return {each.tool: each.sha256 for each in backend.spec.pinning.digests}


def _with_pins(backend: MCPBackend, digests: Mapping[str, str]) -> MCPBackend:
    pins = tuple(PinnedDigest(tool=tool, sha256=digest) for tool, digest in digests.items())
    pinning = backend.spec.pinning.model_copy(update={"digests": pins})
    return backend.model_copy(update={"spec": backend.spec.model_copy(update={"pinning": pinning})})


def _write(sources: Mapping[str, Source], changed: Mapping[str, tuple[str, str]]) -> None:
    """Change the files, each at once.

    A file that cannot be written to, or is another by now, is found out before any is changed.
    """
    for name in changed:
        if not Path(name).is_file():
            raise UnusableInput([f"error: {name} cannot be written to; nothing is written"])
        if Path(name).read_bytes() != sources[name].content:
            raise UnusableInput([f"error: {name} has changed meanwhile; nothing is written"])
    for name, (_, after) in changed.items():
        path = Path(os.path.realpath(name))
        mark = codecs.BOM_UTF8 if sources[name].content.startswith(codecs.BOM_UTF8) else b""
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as partial:
            partial.write(mark + after.encode())
        shutil.copymode(path, partial.name)
        Path(partial.name).replace(path)


def _diff(name: str, before: str, after: str) -> Iterator[str]:
    old, new = (text.splitlines(keepends=True) for text in (before, after))
    for line in difflib.unified_diff(old, new, fromfile=name, tofile=name):
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"


def _said(backend: MCPBackend, found: Listed) -> Iterator[str]:
    """What a person should know beside the diff. Names are the backend's words, and written so that they do nothing to a terminal."""
    key, before, after = backend.key, _pins(backend), found.digests
    counts = {
        "changed": sum(tool in before and before[tool] != digest for tool, digest in after.items()),
        "new": len(after.keys() - before.keys()),
        "gone": len(before.keys() - after.keys()),
    }
    differing = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    yield f"MCPBackend {key}: {len(after)} tool{'' if len(after) == 1 else 's'}, {differing or 'all as pinned'}"
    if backend.spec.pinning.mode == "None":
        yield f"note: MCPBackend {key}: spec.pinning.mode is None, so that digests have no effect: Warn or Enforce have"
    for each in found.rejected[:MAX_NAMED]:
        yield f"note: MCPBackend {key}: {each.tool!a} is never listed, and not pinned: {each.reason}"
    for alike in lookalikes.among(found.digests)[:MAX_NAMED]:
        yield f"warning: MCPBackend {key}: {described(alike)}: see whether it is meant, or leave it out with spec.tools"
