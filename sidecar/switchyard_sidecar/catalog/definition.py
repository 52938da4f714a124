"""One tool's definition: accepted as it is or refused as a whole, and from then on only cut and joined as bytes.

Whatever a definition holds reaches the client byte for byte: unknown members, key order, digits, white space. Only the
value of ``name`` changes, and what an alias overrides. What is checked here is only what would make a conforming client
lose the whole list because of this one tool. No ``$ref`` is followed and no schema is validated: that is for ``lint``.
Sources: 2026-07-28 and 2025-11-25 ``server/tools``.
"""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from switchyard_sidecar.catalog import canonical, json_text
from switchyard_sidecar.catalog.canonical import NotJsonError
from switchyard_sidecar.catalog.json_text import JsonTextError, Member
from switchyard_sidecar.catalog.legacy_view import legible
from switchyard_sidecar.catalog.splice import quoted, spliced
from switchyard_sidecar.protocol import mirrored_params
from switchyard_sidecar.protocol.mirrored_params import InvalidAnnotation, MirroredParam
from switchyard_sidecar.protocol.versions import Era

MAX_DEPTH: Final = 256
"""Levels of nesting in one definition. Many JSON parsers end a little above; none that matter end below."""

_LEGIBLE_NAME: Final = 200
"""Characters of a refused tool's name that are reported."""


class ToolDefinition(msgspec.Struct, frozen=True, gc=False):
    """A definition that can be listed, in one era at least."""

    name: str
    """The backend's own name for it."""
    raw: bytes
    """The definition exactly as it was received."""
    name_at: tuple[int, int]
    """Where the value of ``name`` stands in ``raw``."""
    digest: bytes
    """Of its canonical form: see :mod:`switchyard_sidecar.catalog.canonical`."""
    legacy_raw: bytes
    """The definition as legacy clients can read it: see :mod:`switchyard_sidecar.catalog.legacy_view`."""
    legacy_digest: bytes
    """``digest`` for ``legacy_raw``."""
    mirrored: tuple[MirroredParam, ...]
    """Parameters that modern calls repeat in headers."""
    header_fault: str | None
    """Why its ``x-mcp-header`` annotations are invalid: a modern client must not get to see it."""
    requires_task: bool
    """Whether it can only be called as a task of 2025-11-25, which a modern client cannot do."""

    def rendered(
        self, name: str, title: str | None = None, description: str | None = None, *, era: Era = Era.MODERN
    ) -> bytes:
        """The definition under an exposed name, with overrides where given, as clients of an era can read it.

        An overridden member keeps its place, an absent one is appended. All else is as received, ``name`` too if it is
        the exposed one.
        """
        raw = self.raw if era is Era.MODERN else self.legacy_raw
        values = {"name": None if name == self.name else name, "title": title, "description": description}
        changes = {key: quoted(value) for key, value in values.items() if value is not None}
        if not changes:
            return raw
        if changes.keys() == {"name"} and raw is self.raw:
            start, end = self.name_at
            return b"%b%b%b" % (raw[:start], changes["name"], raw[end:])
        return spliced(raw, changes)


@dataclass(frozen=True, slots=True)
class Rejection:
    """An entry of a list that is left out."""

    tool: str
    """Its name as far as it could be read, else empty (whoever knows its place in the list says ``#place``)."""
    reason: str


def parse_tool(raw: bytes, *, max_bytes: int) -> ToolDefinition | Rejection:
    """Check one entry of a ``tools`` array. ``raw`` has no white space around it."""
    if len(raw) > max_bytes:
        return Rejection("", f"its {len(raw)} bytes are more than the {max_bytes} allowed")
    try:
        spans = list(json_text.members(raw))
    except JsonTextError as error:
        return Rejection("", f"it is not a JSON object: {error}")
    try:
        return _checked(raw, spans)
    except NotJsonError as error:
        return Rejection(_name_of(raw, spans), str(error))


def _checked(raw: bytes, spans: list[Member]) -> ToolDefinition | Rejection:
    if any(span.depth >= MAX_DEPTH for span in spans):
        raise NotJsonError(f"it nests more than {MAX_DEPTH} levels deep")
    reading = canonical.read(raw)
    definition: dict[str, Any] = reading.value
    digest = canonical.digest(reading)
    if len(definition) != len(spans):
        raise NotJsonError("it names a member twice")
    name = definition.get("name")
    if not isinstance(name, str) or not name:
        return Rejection("", "it has no name")
    input_schema = definition.get("inputSchema")
    if not isinstance(input_schema, dict):
        return Rejection(name[:_LEGIBLE_NAME], "its inputSchema is missing or not an object")
    try:
        mirrored, header_fault = mirrored_params.find(input_schema), None
    except InvalidAnnotation as invalid:
        mirrored, header_fault = (), invalid.reason
    named = next(span for span in spans if span.key == "name")
    legacy_raw = legible(raw, definition)
    return ToolDefinition(
        name=name,
        raw=raw,
        name_at=(named.value, named.end),
        digest=digest,
        legacy_raw=legacy_raw,
        legacy_digest=digest if legacy_raw is raw else canonical.digest(canonical.read(legacy_raw)),
        mirrored=mirrored,
        header_fault=header_fault,
        requires_task=_requires_task(definition),
    )


def _requires_task(definition: dict[str, Any]) -> bool:
    execution = definition.get("execution")
    return isinstance(execution, dict) and execution.get("taskSupport") == "required"


def _name_of(raw: bytes, spans: list[Member]) -> str:
    try:
        names = [json_text.string(raw[span.value : span.end]) for span in spans if span.key == "name"]
    except JsonTextError:
        return ""
    return names[0][:_LEGIBLE_NAME] if names else ""
