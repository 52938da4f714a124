"""Pins written into manifests: nothing beside them changes, however the author writes."""

import json

import pytest
import yaml

from switchyard_operator.cli.pin.edit import CannotEdit, applied, pin
from switchyard_operator.manifests.load import load
from switchyard_operator.manifests.sources import Source

A, B = "a" * 64, "b" * 64


def pinned(spec: str, digests: dict[str, str], *, name: str = "a.yaml") -> str:
    """The text with these pins, after seeing that it says just that."""
    (node,) = [each for each in yaml.compose_all(spec, Loader=yaml.SafeLoader) if isinstance(each, yaml.MappingNode)]
    after = applied(spec, [pin(spec, node, digests)])
    manifests = load([Source(name, after.encode())])
    assert manifests.faults == (), after
    (backend,) = manifests.objects.backends.values()
    assert {each.tool: each.sha256 for each in backend.spec.pinning.digests} == digests
    before = load([Source(name, spec.encode())])
    (old,) = before.objects.backends.values()
    assert backend.spec.pinning.mode == old.spec.pinning.mode
    assert backend.spec.model_copy(update={"pinning": old.spec.pinning}) == old.spec
    return after


HEAD = "apiVersion: switchyard.dev/v1alpha1\nkind: MCPBackend\nmetadata: {name: gh, namespace: agents}\n"
TWO = {"a": A, "b": B}


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            "# ours\nspec:\n  url: http://gh/  # internal\n  pinning:\n    mode: Warn  # for now\n\n# the end\n",
            f'# ours\nspec:\n  url: http://gh/  # internal\n  pinning:\n    mode: Warn  # for now\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: b, sha256: "{B}"}}\n\n# the end\n',
            id="the first pins",
        ),
        pytest.param(
            "spec:\n  url: http://gh/\n",
            f'spec:\n  url: http://gh/\n  pinning:\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: b, sha256: "{B}"}}\n',
            id="no pinning yet",
        ),
        pytest.param(
            "spec:\n  pinning: {mode: Enforce}\n  url: http://gh/\n",
            f'spec:\n  pinning:\n    mode: Enforce\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: b, sha256: "{B}"}}\n  url: http://gh/\n',
            id="a mode on one line",
        ),
        pytest.param(
            f'spec:\n  pinning:\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: c, sha256: "{A}"}}\n    # below\n    mode: Warn\n  url: http://gh/\n',
            f'spec:\n  pinning:\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: b, sha256: "{B}"}}\n    # below\n    mode: Warn\n  url: http://gh/\n',
            id="other pins",
        ),
        pytest.param(
            f"spec:\n  pinning:\n    digests:\n      - tool: a\n        sha256: {B}\n  url: http://gh/\n",
            f'spec:\n  pinning:\n    digests:\n      - {{tool: a, sha256: "{A}"}}\n      - {{tool: b, sha256: "{B}"}}\n  url: http://gh/\n',
            id="entries of several lines, further in",
        ),
        pytest.param(
            "spec:\n  url: http://gh/\n  headers:\n    - {name: A, value: b}\n",
            f'spec:\n  url: http://gh/\n  headers:\n    - {{name: A, value: b}}\n  pinning:\n    digests:\n      - {{tool: a, sha256: "{A}"}}\n      - {{tool: b, sha256: "{B}"}}\n',
            id="lists further in, as elsewhere in the object",
        ),
        pytest.param(
            "spec:\n  pinning:\n    digests: []  # none yet\n    mode: Warn\n  url: http://gh/",
            f'spec:\n  pinning:\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: b, sha256: "{B}"}}  # none yet\n    mode: Warn\n  url: http://gh/',
            id="an empty list",
        ),
        pytest.param(
            "spec:\n  url: http://gh/",
            f'spec:\n  url: http://gh/\n  pinning:\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    - {{tool: b, sha256: "{B}"}}',
            id="no line break at the end",
        ),
        pytest.param(
            "spec:\r\n  url: http://gh/  # w\r\n",
            f'spec:\r\n  url: http://gh/  # w\r\n  pinning:\r\n    digests:\r\n    - {{tool: a, sha256: "{A}"}}\r\n    - {{tool: b, sha256: "{B}"}}\r\n',
            id="line breaks of Windows",
        ),
        pytest.param(
            "spec: {url: 'http://gh/', pinning: {mode: Warn}}\n",
            f'spec: {{url: \'http://gh/\', pinning: {{mode: Warn, digests: [\n  {{tool: a, sha256: "{A}"}},\n  {{tool: b, sha256: "{B}"}}]}}}}\n',
            id="all on one line",
        ),
        pytest.param(
            "spec: {url: 'http://gh/'}\n",
            f'spec: {{url: \'http://gh/\', pinning: {{digests: [\n  {{tool: a, sha256: "{A}"}},\n  {{tool: b, sha256: "{B}"}}]}}}}\n',
            id="all on one line, no pinning yet",
        ),
        pytest.param(
            "spec:\n  url: http://gh/\n  hostHeader: |-\n    gh\n\nstatus: {}\n",
            None,
            id="a text of several lines comes last",
        ),
    ],
)
def test_only_the_pins_change(before: str, after: str | None) -> None:
    """The rest stays as its author wrote it: comments, indentation, order, line breaks."""
    written = pinned(HEAD + before, TWO)
    assert after is None or written == HEAD + after


def test_pins_that_are_taken_out_leave_an_empty_list() -> None:
    """A backend without tools, in either style."""
    block = f'spec:\n  url: http://gh/\n  pinning:\n    digests:\n    - {{tool: a, sha256: "{A}"}}\n    mode: Warn\n'
    assert pinned(HEAD + block, {}) == HEAD + "spec:\n  url: http://gh/\n  pinning:\n    digests: []\n    mode: Warn\n"
    flow = f"spec: {{url: 'http://gh/', pinning: {{digests: [{{tool: a, sha256: \"{A}\"}}]}}}}\n"
    assert pinned(HEAD + flow, {}) == HEAD + "spec: {url: 'http://gh/', pinning: {digests: []}}\n"


@pytest.mark.parametrize("indent", [None, 2, 4, "\t"])
@pytest.mark.parametrize("pinning", [{}, {"pinning": {"mode": "Warn"}}, {"pinning": {"digests": []}}])
def test_json_stays_json(indent: int | str | None, pinning: dict[str, object]) -> None:
    """Compact, indented or tabbed; also with names that JSON and YAML escape differently."""
    resource = {
        "apiVersion": "switchyard.dev/v1alpha1",
        "kind": "MCPBackend",
        "metadata": {"name": "gh"},
        "spec": {"url": "http://gh/", **pinning},
    }
    before = json.dumps(resource, indent=indent)
    digests = {"p\u0430ypal": A, "\U0001f600": B}
    node = yaml.compose(before.replace("\t", " "), Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)
    after = json.loads(applied(before, [pin(before, node, digests)]))
    pins = after["spec"].pop("pinning")["digests"]
    assert pins == [{"tool": tool, "sha256": digest} for tool, digest in digests.items()]
    assert after["spec"] == {"url": "http://gh/"}


@pytest.mark.parametrize(
    ("tool", "written"),
    [
        ("get_user", "get_user"),
        ("yes", '"yes"'),
        ("Null", '"Null"'),
        ("1e5", '"1e5"'),
        ("a: b", '"a: b"'),
        ('say "hi" \\', '"say \\"hi\\" \\\\"'),
        ("p\u0430ypal", '"p\\u0430ypal"'),
        ("\U0001f600", '"\\U0001f600"'),
        ("a\u202eb", '"a\\u202eb"'),
    ],
)
def test_a_reviewer_sees_which_letters_a_name_has(tool: str, written: str) -> None:
    """Nothing that looks like another letter, or turns the text around, stands in the diff."""
    assert f"- {{tool: {written}, sha256:" in pinned(f"{HEAD}spec:\n  url: http://gh/\n", {tool: A})


@pytest.mark.parametrize(
    "text",
    [
        "x: &p {mode: Warn}\nspec:\n  url: http://gh/\n  pinning: *p\n",
        "x: &p []\nspec:\n  url: http://gh/\n  pinning:\n    digests: *p\n",
        "x: &s {url: 'http://gh/'}\nspec: *s\n",
    ],
)
def test_what_an_alias_stands_for_is_not_edited(text: str) -> None:
    """It may stand elsewhere, too; the author is asked to write it out."""
    node = yaml.compose(HEAD + text, Loader=yaml.SafeLoader)
    assert isinstance(node, yaml.MappingNode)
    with pytest.raises(CannotEdit, match="write it out"):
        pin(HEAD + text, node, TWO)
