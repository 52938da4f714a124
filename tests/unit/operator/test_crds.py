"""The CRDs: what the models say, in the form and with the words that Kubernetes asks for."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from switchyard_operator.api.crd import crd, schema
from switchyard_operator.api.kinds import KINDS, Kind
from unit.operator.verdicts import RULES

ROOT = Path(__file__).parents[3]

LIMITS = ("maxLength", "minimum", "maximum", "minItems", "maxItems", "maxProperties")


def nodes(schema: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema within a schema; ``[]`` stands for each entry of a list, ``{}`` for each value of a map."""
    yield path, schema
    for name, below in schema.get("properties", {}).items():
        yield from nodes(below, f"{path}.{name}" if path else name)
    for member, step in (("items", "[]"), ("additionalProperties", "{}")):
        if member in schema:
            yield from nodes(schema[member], path + step)


def test_the_files_are_what_the_command_writes(tmp_path: Path) -> None:
    """A change of a model goes with `make crds`."""
    subprocess.run([sys.executable, ROOT / "scripts" / "crds.py", tmp_path], check=True)
    written = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert len(written) == 3
    assert {file.name: file.read_text() for file in (ROOT / "crds").iterdir()} == written


@pytest.mark.parametrize(
    ("kind", "name", "short", "columns"),
    [
        (
            KINDS[0],
            "mcpbackends.switchyard.dev",
            "mcpb",
            "Ready Reason Reachable Era Tools Version* URL* Service* Message* Age",
        ),
        (
            KINDS[1],
            "mcptoolaliases.switchyard.dev",
            "mcpa",
            "Ready Reason Alias Backend Tool Gateways Conflicted* Message* Age",
        ),
        (
            KINDS[2],
            "mcpgateways.switchyard.dev",
            "mcpgw",
            "Ready Reason Backends Tools Pods Current Declared* Mode* Message* Age",
        ),
    ],
)
def test_kinds_are_called_as_users_type_them(kind: Kind, name: str, short: str, columns: str) -> None:
    """Names and columns are part of what scripts rely on; `*` marks those of `-o wide`."""
    made = crd(kind)
    (version,) = made["spec"]["versions"]
    assert made["metadata"]["name"] == name
    assert made["spec"]["names"]["shortNames"] == [short]
    assert made["spec"]["names"]["categories"] == ["mcp"]
    shown = [each["name"] + ("*" if each.get("priority") else "") for each in version["additionalPrinterColumns"]]
    assert shown == columns.split()


def test_every_rule_is_in_the_table_of_verdicts() -> None:
    """At each place where it stands: a rule without an example is not known to work."""
    stated = [
        (kind.name, path + rule.get("fieldPath", ""), rule["message"])
        for kind in KINDS
        for path, node in nodes(schema(kind))
        for rule in node.get("x-kubernetes-validations", ())
    ]
    shown = [
        (case.kind, re.sub(r"\[\d+\]", "[]", case.at_server or case.at), case.server_says or case.says)
        for case in RULES
    ]
    assert len(stated) > 40
    assert [rule for rule in stated if not any(rule[:2] == case[:2] and case[2] in rule[2] for case in shown)] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_schema_is_structural_and_bounded(kind: Kind) -> None:
    """So that it can be pruned, defaulted and merged, and its rules can be reckoned with."""
    loose = [path for path, node in nodes(schema(kind)) if not is_structural(node) or not is_bounded(node)]
    assert loose == ["apiVersion", "kind"]


def is_structural(node: dict[str, Any]) -> bool:
    foreign = {"$ref", "$defs", "title", "allOf", "oneOf", "nullable", "patternProperties", "const"}
    return node.keys().isdisjoint(foreign) and node.get("additionalProperties") is not False


def is_bounded(node: dict[str, Any]) -> bool:
    free = "x-kubernetes-preserve-unknown-fields" in node
    match node.get("type"):
        case "string":
            return not node.keys().isdisjoint({"maxLength", "enum", "format"})
        case "integer":
            return "minimum" in node
        case "array":
            return "maxItems" in node and node["x-kubernetes-list-type"] in {"atomic", "map"}
        case "object":
            return free or "properties" in node or "maxProperties" in node
        case None:
            return free or {"x-kubernetes-int-or-string", "maxLength"} <= node.keys()
        case "boolean":
            return True
        case _:
            return False


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_every_description_says_default_and_limits(kind: Kind) -> None:
    """`kubectl explain` is where users look. An entry is described with its list, and a duration's length by its syntax."""
    every = dict(nodes(schema(kind)))
    unsaid = {}
    for path, node in every.items():
        said = node.get("description", "")
        if path.endswith(("[]", "{}")):
            said += every[path[:-2]]["description"]
        expected = [str(node[limit]) for limit in LIMITS if limit in node and node[limit] not in {0, 32}]
        expected += [f"`{value}`" for value in node.get("enum", ())]
        expected += ["Default"] if "default" in node and "properties" not in node else []
        missing = [each for each in expected if each not in said]
        if missing or not said.endswith("."):
            unsaid[path] = missing
    assert unsaid == {"metadata": []}


def test_only_conditions_have_values_that_yaml_1_1_reads_as_booleans() -> None:
    """Those are Kubernetes' own, and written by programs; `mode: Off` would arrive as false."""
    words = {"y", "n", "yes", "no", "on", "off", "true", "false", "null", "~"}
    found = {
        path
        for kind in KINDS
        for path, node in nodes(schema(kind))
        if any(value.lower() in words for value in (*node.get("enum", ()), *node.get("properties", ())))
    }
    assert found == {"status.conditions[].status"}
