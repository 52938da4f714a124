"""How the sidecar's own values look in JSON for people: camelCase keys, moments as RFC 3339 in UTC. Pure."""

from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic.alias_generators import to_camel


def shown(value: Any) -> Any:
    """A value as JSON has it. A field whose name ends in ``_at`` holds Unix seconds."""
    if is_dataclass(value) and not isinstance(value, type):
        return {to_camel(each.name): _member(each.name, getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [shown(each) for each in value]
    return value


def _member(name: str, value: Any) -> Any:
    if name.endswith("_at") and value is not None:
        return datetime.fromtimestamp(value, UTC).isoformat(timespec="milliseconds")
    return shown(value)
