"""Files of YAML: whatever is in one, it is read, or said to be wrong in a line each, in bounded time."""

import time
from typing import Any, Final

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from fuzz.texts import budget, damaged, names, values
from switchyard_operator.manifests.load import Manifests, load
from switchyard_operator.manifests.sources import Source

PATIENCE_S: Final = 5.0
"""What a file of some kilobytes may take at worst on a busy machine: what is exponential takes for ever."""

ODD_SCALARS: Final = st.sampled_from(
    [
        "0x" + "f" * 10_000, "9" * 10_000, "1:" * 2_000 + "1", "0b" + "1" * 20_000, "0o17", "017", "1_000", "-.inf", ".nan",
        "1e400", "!!int x", "!!python/object/apply:os.system ['true']", "!!binary aGk=", "!!set {a, b}", "!!float .", "!<x> y",
        "2001-02-30", "2001-12-14t21:59:43.10-05:00", "yes", "~", "=", "<<", "&a *a", "*a", '"\\ud800"', '"\\0"', "| \n  x",
    ]
)  # fmt: skip
KINDS: Final = st.sampled_from(
    ["MCPBackend", "MCPGateway", "MCPToolAlias", "Secret", "ConfigMap", "List", "Namespace", "Pod"]
)
FIELDS: Final = st.sampled_from(
    [
        "spec", "metadata", "items", "data", "name", "namespace", "labels", "url", "auth", "tokens", "claims", "backends", "tools",
        "visibility", "rules", "when", "limits", "bytes", "timeouts", "call", "headers", "value", "pageSize", "listener", "<<",
    ]
)  # fmt: skip


def _flow(value: Any) -> str:
    return yaml.safe_dump(value, default_flow_style=True, width=10**6).removesuffix("...\n").strip()


@st.composite
def _nodes(draw: DrawFn, depth: int = 4) -> str:
    """A value in flow style, with anchors, references, tags and keys that stand twice."""
    anchor = draw(st.sampled_from(["", "", "", "&a ", "&b ", "!!map ", "!!str ", "!x "]))
    if depth == 0 or draw(st.integers(0, 2)) == 0:
        return draw(st.sampled_from(["*a", "*b"]) | ODD_SCALARS | values.map(_flow))
    if draw(st.booleans()):
        return f"{anchor}[{', '.join(draw(st.lists(_nodes(depth - 1), max_size=3)))}]"
    keys = FIELDS | names.map(_flow) | st.sampled_from(["1", "~", "[a]", "? x"])
    members = draw(st.lists(st.tuples(keys, _nodes(depth - 1)), max_size=4))
    return f"{anchor}{{{', '.join(f'{key}: {value}' for key, value in members)}}}"


OBJECTS: Final[SearchStrategy[str]] = st.builds(
    lambda kind, metadata, spec: (
        f"apiVersion: {'v1' if kind in {'Secret', 'ConfigMap', 'List', 'Namespace', 'Pod'} else 'switchyard.dev/v1alpha1'}\n"
        f"kind: {kind}\nmetadata: {metadata}\nspec: {spec}\nitems: [{spec}]\ndata: {spec}\n"
    ),
    KINDS,
    _nodes() | st.just("{name: a}"),
    _nodes(),
)
FILES: Final = st.lists(OBJECTS, min_size=1, max_size=3).map("---\n".join).map(str.encode)


def loaded(content: bytes, name: str = "a.yaml") -> Manifests:
    """What a file holds, and that it took no time."""
    began = time.process_time()
    manifests = load([Source(name, content)])
    assert time.process_time() - began < PATIENCE_S
    said = [str(fault) for fault in manifests.faults]
    assert all(each.isprintable() and len(each) < 10_000 for each in said), said
    return manifests


@budget
@given(st.binary() | st.text().map(str.encode) | FILES | damaged(FILES), st.sampled_from(["a.yaml", "a.json"]))
@example(b"a: 0x" + b"f" * 10_000, "a.yaml")
@example(b"[" * 10_000, "a.yaml")
@example(b"{" * 10_000, "a.json")
@example(b"- " * 5_000 + b"a", "a.yaml")
@example(b"? " * 2_000, "a.yaml")
@example(b"&a " * 1_000 + b"x", "a.yaml")
@example(b"%YAML 9.9\n---\na", "a.yaml")
@example(b"\xff\xfea", "a.yaml")
def test_any_file_is_read_or_said_to_be_wrong(content: bytes, name: str) -> None:
    """In lines that can be printed."""
    loaded(content, name)


GATEWAY: Final = "apiVersion: switchyard.dev/v1alpha1\nkind: MCPGateway\nmetadata: {name: a}\nspec: "
WAYS: Final = (
    "{{bomb}}",
    "{{instructions: {bomb}}}",
    "{{auth: {{tokens: [{{name: a, secretKeyRef: {{name: a, key: a}}, claims: {{a: {bomb}}}}}]}}}}",
    "{{visibility: {{default: Deny, rules: {bomb}}}}}",
    "{{backends: {bomb}}}",
    "{{sidecar: {{resources: {bomb}}}}}",
    "{{service: {{annotations: {bomb}}}}}",
)


def bomb(kind: str, levels: int = 24, width: int = 10) -> str:
    """Little text that stands for ``width`` to the power of ``levels`` values."""
    lines = ["x0: &x0 [a]" if kind == "list" else "x0: &x0 {a: b}"]
    for level in range(1, levels):
        used = [f"*x{level - 1}"] * width
        inner = ", ".join(used) if kind == "list" else ", ".join(f"k{index}: {each}" for index, each in enumerate(used))
        lines.append(f"x{level}: &x{level} " + (f"[{inner}]" if kind == "list" else f"{{{inner}}}"))
    return "\n".join(lines)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", ["list", "map"])
def test_little_text_that_stands_for_very_much_is_refused_at_once(way: str, kind: str) -> None:
    """Wherever it is put, fields that take any JSON among them."""
    text = f"{bomb(kind)}\n{GATEWAY}{way.format(bomb='*x23')}\n"
    assert loaded(text.encode()).faults


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap", "Pod", "List"])
def test_so_it_is_in_objects_of_others(kind: str) -> None:
    """Which are read in part, or not at all."""
    text = (
        f"{bomb('list')}\napiVersion: v1\nkind: {kind}\nmetadata: {{name: a, labels: *x23}}\ndata: *x23\nitems: *x23\n"
    )
    loaded(text.encode())


def test_merging_again_and_again_is_no_way_to_grow() -> None:
    """Each level merges what is below it several times over."""
    lines = ["x0: &x0 {a: b}"]
    lines += [
        f"x{level}: &x{level} {{k{level}: v, <<: [{', '.join([f'*x{level - 1}'] * 20)}]}}" for level in range(1, 200)
    ]
    loaded("\n".join(lines).encode())
