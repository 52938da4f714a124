"""From files to objects, with everything that is wrong with the files."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_operator.api.resource import Key, Ref
from switchyard_operator.manifests.load import Manifests, load
from switchyard_operator.manifests.sources import Source

BACKEND = """
    apiVersion: switchyard.dev/v1alpha1
    kind: MCPBackend
    metadata: {name: github}
"""
GATEWAY = """
    apiVersion: switchyard.dev/v1alpha1
    kind: MCPGateway
    metadata: {name: main, namespace: agents}
"""


def loaded(*texts: str) -> Manifests:
    """These texts as files a.yaml, b.yaml, ..."""
    files = zip("abc", texts, strict=False)
    return load(Source(f"{name}.yaml", dedent(text).strip().encode()) for name, text in files)


def faults(*texts: str) -> list[str]:
    return [str(fault) for fault in loaded(*texts).faults]


def test_objects_are_collected_by_kind_and_key() -> None:
    """Several documents, several files, `List` objects; namespaces default to `default`."""
    manifests = loaded(
        f"{BACKEND}    spec: {{url: 'http://a/'}}\n    ---{GATEWAY}    spec: {{}}",
        """
        apiVersion: v1
        kind: List
        items:
        - apiVersion: switchyard.dev/v1alpha1
          kind: MCPToolAlias
          metadata: {name: find, namespace: agents}
          spec: {backendRef: {name: github}, tool: search, alias: find}
        - {apiVersion: v1, kind: Namespace, metadata: {name: agents, labels: {team: a}}}
        """,
    )
    assert manifests.faults == ()
    assert list(manifests.objects.backends) == [Key("default", "github")]
    assert list(manifests.objects.gateways) == [Key("agents", "main")]
    assert list(manifests.objects.aliases) == [Key("agents", "find")]
    assert manifests.objects.namespaces["agents"].labels == {"team": "a", "kubernetes.io/metadata.name": "agents"}


def test_secrets_and_config_maps_bring_their_data() -> None:
    """`data` is base64, `stringData` wins over it; a ConfigMap's `data` is text and its `binaryData` base64."""
    manifests = loaded(
        """
        apiVersion: v1
        kind: Secret
        metadata: {name: gh, namespace: tools, labels: {switchyard.dev/credential: "true"}}
        data: {token: b2xk, key: aw==}
        stringData: {token: new}
        ---
        apiVersion: v1
        kind: ConfigMap
        metadata: {name: ca}
        data: {ca.crt: text}
        binaryData: {raw: AAE=}
        """
    )
    secret = manifests.objects.secrets[Key("tools", "gh")]
    assert secret.data == {"token": b"new", "key": b"k"}
    assert secret.labels == {"switchyard.dev/credential": "true"}
    assert "new" not in repr(secret)
    assert manifests.objects.config_maps[Key("default", "ca")].data == {"ca.crt": b"text", "raw": b"\0\1"}


def test_other_kinds_are_counted_and_left_alone() -> None:
    """They are no business of Switchyard; their names may be of other groups too."""
    manifests = loaded(
        """
        {apiVersion: apps/v1, kind: Deployment, metadata: {name: a}}
        ---
        {apiVersion: apps/v1, kind: Deployment, metadata: {name: b}}
        ---
        {apiVersion: other.example/v1, kind: Secret, metadata: {name: c}}
        """
    )
    assert (manifests.faults, manifests.unused) == ((), {"Deployment": 2, "Secret": 1})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            f"{GATEWAY}    spec:\n      backends:\n      - {{name: a}}\n      - {{name: b, prefix: jr__}}",
            [
                (
                    'a.yaml:7:15: MCPGateway agents/main: spec.backends[1].prefix: must not contain the separator "__": '
                    "composed names could then coincide"
                )
            ],
            id="a rule across fields",
        ),
        pytest.param(
            f"{GATEWAY}    spec:\n      bakends: []\n      listener: {{prot: 1}}",
            [
                "a.yaml:5:3: MCPGateway agents/main: spec.bakends: there is no such field; did you mean backends?",
                "a.yaml:6:14: MCPGateway agents/main: spec.listener.prot: there is no such field; did you mean port?",
            ],
            id="unknown fields, the nearest named",
        ),
        pytest.param(
            f"{BACKEND}    spec: {{url: 'http://a/', auth: {{zzz: 1}}}}",
            [
                (
                    "a.yaml:4:33: MCPBackend default/github: spec.auth.zzz: there is no such field; possible here: "
                    "audiences, secretKeyRef, type"
                )
            ],
            id="an unknown field like no other",
        ),
        pytest.param(
            f"{BACKEND}    spec: {{url: 'http://a/', protocol: modern, pinning: {{mode: off}}}}",
            [
                (
                    'a.yaml:4:26: MCPBackend default/github: spec.protocol: "modern": must be one of Auto, Modern or '
                    "Legacy; did you mean Modern?"
                ),
                (
                    "a.yaml:4:54: MCPBackend default/github: spec.pinning.mode: false: must be one of None, Warn or "
                    "Enforce; YAML 1.1 reads yes, no, on, off, true and false without quotes as a boolean"
                ),
            ],
            id="words that are no choice",
        ),
        pytest.param(
            f"{BACKEND}    spec: {{url: 'http://a/', timeouts: {{call: 5}}, headers: [{{name: X-A, value: on}}]}}",
            [
                (
                    "a.yaml:4:37: MCPBackend default/github: spec.timeouts.call: 5: must be a duration such as 500ms, 30s, "
                    "10m or 1h30m"
                ),
                (
                    "a.yaml:4:69: MCPBackend default/github: spec.headers[0].value: must be a string; YAML 1.1 reads yes, "
                    "no, on, off, true and false without quotes as a boolean: put the word in quotes"
                ),
            ],
            id="numbers and booleans in place of strings",
        ),
        pytest.param(
            f"{GATEWAY}    spec: {{backends: {{name: a}}, naming: [], pageSize: '5'}}",
            [
                (
                    "a.yaml:4:8: MCPGateway agents/main: spec.backends: must be a list, not a mapping; write each entry on a "
                    "line that begins with '-'"
                ),
                "a.yaml:4:29: MCPGateway agents/main: spec.naming: must be a mapping of fields, not a list",
                'a.yaml:4:41: MCPGateway agents/main: spec.pageSize: "5": must be a whole number, without quotes',
            ],
            id="wrong shapes",
        ),
        pytest.param(
            "apiVersion: switchyard.dev/v1\nkind: MCPGateway",
            ["a.yaml:1:1: MCPGateway has apiVersion switchyard.dev/v1alpha1, not switchyard.dev/v1"],
            id="a wrong version",
        ),
        pytest.param(
            "apiVersion: switchyard.dev/v1alpha1\nkind: MCPGatway",
            ["a.yaml:2:1: switchyard.dev has no kind MCPGatway; did you mean MCPGateway?"],
            id="a misspelt kind",
        ),
        pytest.param(
            "spec: {}",
            ["a.yaml:1:1: is no object: apiVersion and kind are required, and strings"],
            id="no kind",
        ),
        pytest.param(
            "- 1",
            ["a.yaml:1:1: is no object: a mapping with apiVersion, kind, metadata and spec is expected"],
            id="no mapping",
        ),
        pytest.param(
            "apiVersion: switchyard.dev/v1alpha1\nkind: MCPGateway\nmetadata: {nmae: a}\nspec: {}",
            [
                "a.yaml:3:1: MCPGateway: metadata.name: is required",
                "a.yaml:3:12: MCPGateway: metadata.nmae: there is no such field; did you mean name?",
            ],
            id="metadata",
        ),
        pytest.param(
            "apiVersion: switchyard.dev/v1alpha1\nkind: MCPBackend",
            ["a.yaml:1:1: MCPBackend: metadata: is required", "a.yaml:1:1: MCPBackend: spec: is required"],
            id="nothing",
        ),
        pytest.param(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: 's3cret!', b: 5}\nstringData: [s3cret]",
            [
                "a.yaml:4:8: Secret default/s: data.a: is not base64; plain text goes into stringData",
                "a.yaml:4:22: Secret default/s: data.b: must be a string; put it in quotes",
                "a.yaml:5:1: Secret default/s: stringData: must be a mapping of strings",
            ],
            id="a Secret, whose values are not shown",
        ),
        pytest.param(
            "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: switchyard.dev/v1alpha1, kind: MCPGateway, spec: 1}",
            [
                "a.yaml:4:3: MCPGateway: metadata: is required",
                "a.yaml:4:59: MCPGateway: spec: 1: must be a mapping of fields, not a number",
            ],
            id="an item of a List",
        ),
    ],
)
def test_a_mistake_is_said_with_file_line_field_value_and_remedy(text: str, expected: list[str]) -> None:
    """One line for each mistake, in the order of the file."""
    assert faults(text) == expected


@pytest.mark.parametrize(
    "spec",
    [
        "{url: 'https://user:s3cret@a/'}",
        "{url: 'https://user:s3cret@ä/'}",
        "{url: 'http://a/', auth: s3cret}",
        "{url: 'http://a/', auth: {type: s3cret}}",
        "{url: 'http://a/', auth: {type: Bearer, token: s3cret}}",
        "{url: 'http://a/', headers: [{name: X-A, value: ' s3cret'}]}",
        '{url: "http://a/", headers: [{name: X-A, value: "s3cret\\n"}]}',
        "{url: 'http://a/', headers: s3cret}",
        "{url: 'http://a/', headers: {X-A: s3cret}}",
    ],
)
def test_what_may_be_a_secret_is_not_shown(spec: str) -> None:
    """A value is left out of the message where somebody may have put a credential."""
    said = faults(f"{BACKEND}    spec: {spec}")
    assert said
    assert [fault for fault in said if "s3cret" in fault] == []


def test_an_object_declared_twice_names_both_places() -> None:
    """Which of the two would count is nobody's guess."""
    text = f"{BACKEND}    spec: {{url: 'http://a/'}}"
    assert faults(text, f"# moved here\n{dedent(text).strip()}") == [
        "b.yaml:2:1: MCPBackend default/github: is declared twice, first at a.yaml:1:1: remove one of them"
    ]


def test_a_namespace_lies_in_none() -> None:
    """Its name is all there is to say."""
    text = "{apiVersion: v1, kind: Namespace, metadata: {name: agents}}"
    assert faults(text, text) == [
        "b.yaml:1:1: Namespace agents: is declared twice, first at a.yaml:1:1: remove one of them"
    ]


def test_a_list_within_a_list_is_refused() -> None:
    """As `kubectl` does; and anchors could make it endless."""
    inner = "{apiVersion: v1, kind: List, items: []}"
    assert faults(f"{{apiVersion: v1, kind: List, items: [{inner}]}}") == [
        "a.yaml:1:38: a List within a List is not read: put its items into the outer one"
    ]


def test_one_name_in_two_namespaces_or_kinds_is_no_duplicate() -> None:
    """An object is kind, namespace and name."""
    other = BACKEND.replace("{name: github}", "{name: github, namespace: b}")
    spec = "    spec: {url: 'http://a/'}"
    assert faults(BACKEND + spec, other + spec, "apiVersion: v1\nkind: Secret\nmetadata: {name: github}") == []


def test_all_faults_of_all_files_are_reported_in_order() -> None:
    """Not the first only; a file that cannot be read is one of them."""
    sources = [
        Source("b.yaml", b"a: ["),
        Source("a.yaml", fault="cannot be read: Permission denied"),
        Source("c.yaml", b"just text"),
    ]
    assert [str(fault) for fault in load(sources).faults] == [
        "a.yaml: cannot be read: Permission denied",
        (
            "b.yaml:1:5: is not well-formed YAML: while parsing a flow node, expected the node content, but found "
            "'<stream end>'"
        ),
        "c.yaml:1:1: is no object: a mapping with apiVersion, kind, metadata and spec is expected",
    ]


def test_a_faulty_object_does_not_take_its_neighbours_along() -> None:
    """The others are there, for whoever can use them."""
    manifests = loaded(f"{BACKEND}    spec: {{}}\n    ---{GATEWAY}    spec: {{}}")
    assert len(manifests.faults) == 1
    assert (list(manifests.objects.backends), list(manifests.objects.gateways)) == ([], [Key("agents", "main")])


def test_fields_of_loaded_objects_can_be_found_again() -> None:
    """So that a finding of compiling can say where; an object from elsewhere has no place."""
    manifests = loaded(f"{GATEWAY}    spec:\n      backends:\n      - name: a")
    ref = Ref("MCPGateway", "agents", "main")
    assert str(manifests.place(ref, ("spec", "backends", 0))) == "a.yaml:6:5"
    assert manifests.place(Ref("MCPBackend", "agents", "a")) is None


SCRAPS = st.lists(
    st.sampled_from(
        [
            "apiVersion: ",
            "switchyard.dev/v1alpha1",
            "kind: ",
            "MCPGateway",
            "MCPBackend",
            "Secret",
            "v1",
            "metadata: ",
            "name: ",
            "spec: ",
            "backends: ",
            "data: ",
            "items: ",
            "List",
            "{",
            "}",
            "[",
            "]",
            ", ",
            "\n",
            "  ",
            "- ",
            "&a ",
            "*a",
            "<<: ",
            "!!int ",
            "'",
            '"',
            "|",
            "---\n",
            "0x",
            "1e9",
            "yes",
            "~",
            "\t",
            "#",
            "? ",
            ": ",
            "é",
            "2026-07-28",
        ]
    )
)


@given(st.one_of(st.binary(), st.text().map(str.encode), SCRAPS.map("".join).map(str.encode)))
def test_no_text_makes_loading_fail(text: bytes) -> None:
    """Whatever stands in a file, the answer is objects and faults."""
    for fault in load([Source("a.yaml", text)]).faults:
        assert str(fault).startswith("a.yaml")
