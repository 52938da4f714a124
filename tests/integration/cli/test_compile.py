"""`switchyard compile`, `switchyard version`, and what is said about input that cannot be used."""

import base64
import binascii
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from integration.cli.command import OTHER_KIND, START_S, SWITCHYARD, backend, gateway, manifests, secret, switchyard

ROOT = Path(__file__).parents[3]
QUICKSTART = ROOT / "examples" / "quickstart"
BEARER = "auth: {type: Bearer, secretKeyRef: {name: gh, key: token}}"


def printed(*arguments: str | Path) -> list[Any]:
    """The objects that `compile` prints."""
    done = switchyard("compile", *arguments)
    assert (done.returncode, done.stderr) == (0, "")
    return list(yaml.safe_load_all(done.stdout))


def test_the_version_is_printed() -> None:
    """And nothing else."""
    done = switchyard("version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "switchyard 0.1.0\n", "")


def test_what_the_operator_would_write_is_printed() -> None:
    """A ConfigMap and a Secret for each gateway, named after it and labelled as ours."""
    config_map, secret_ = printed("-f", QUICKSTART)
    metadata = {
        "name": "switchyard-main",
        "namespace": "agents",
        "labels": {
            "app.kubernetes.io/managed-by": "switchyard",
            "switchyard.dev/config-of": "main",
            "switchyard.dev/credential": "child",
        },
    }
    assert (config_map["apiVersion"], config_map["kind"], config_map["metadata"]) == ("v1", "ConfigMap", metadata)
    assert (secret_["apiVersion"], secret_["kind"], secret_["metadata"]) == ("v1", "Secret", metadata)
    config = json.loads(config_map["data"]["gateway.json"])
    assert [each["prefix"] for each in config["backends"]] == ["github", "jr", "runbooks"]
    assert [each["alias"] for each in config["aliases"]] == ["find_repo", "runbook"]


def test_secrets_are_shown_only_when_asked_for(tmp_path: Path) -> None:
    """Otherwise neither they nor anything made of them is in the output."""
    folder = manifests(
        tmp_path / "m", a=gateway("{name: a}"), b=backend("a", "http://a/", BEARER), c=secret("gh", token="s3cret")
    )
    hidden = switchyard("compile", "-f", folder).stdout
    manifests(folder, c=secret("gh", token="another"))
    assert switchyard("compile", "-f", folder).stdout == hidden
    assert "s3cret" not in hidden
    assert base64.b64encode(b"s3cret").decode() not in hidden
    assert "<redacted>" in hidden
    _, shown = printed("-f", folder, "--show-secrets")
    values = {name: value for name, value in shown["data"].items() if name != "cred_key"}
    assert list(values.values()) == [base64.b64encode(b"another").decode()]


def test_redacted_output_cannot_be_applied_by_mistake(tmp_path: Path) -> None:
    """Its placeholders are no base64, so that the API server refuses them."""
    folder = manifests(
        tmp_path / "m", a=gateway("{name: a}"), b=backend("a", "http://a/", BEARER), c=secret("gh", token="x")
    )
    _, hidden = printed("-f", folder)
    for value in hidden["data"].values():
        with pytest.raises(binascii.Error):
            base64.b64decode(value, validate=True)


def test_equal_files_give_equal_output(tmp_path: Path) -> None:
    """In whatever order and files they stand, so that a pull request shows real differences only."""
    one = manifests(
        tmp_path / "one",
        a=gateway("{name: a}", "{name: b}"),
        b=backend("a", "http://a/") + backend("b", "http://b/"),
    )
    two = manifests(
        tmp_path / "two", z=gateway("{name: a}", "{name: b}"), b=backend("b", "http://b/"), a=backend("a", "http://a/")
    )
    assert switchyard("compile", "-f", one).stdout == switchyard("compile", "-f", two).stdout != ""


def test_the_clusters_own_issuer_is_the_operators_business(tmp_path: Path) -> None:
    """Of an issuer that files cannot know, the output says so; who is let in otherwise is in it."""
    auth = "auth: {kubernetes: {audiences: [a]}, jwt: [{issuer: i, audiences: [b], jwksURL: 'https://i.example/keys'}]}"
    config_map, _ = printed("-f", manifests(tmp_path / "m", a=gateway(spec=auth)))
    config = json.loads(config_map["data"]["gateway.json"])
    found = [(each["issuer"], each["audiences"]) for each in config["authentication"]["issuers"]]
    assert found == [("i", ["b"]), ("made-by-the-operator", ["a"])]
    assert config["requires"] == ["authentication"]


def test_manifests_come_from_standard_input_too() -> None:
    """As a template engine would pipe them."""
    done = switchyard("compile", "-f", "-", stdin="".join(gateway().splitlines(keepends=True)))
    assert (done.returncode, done.stderr) == (0, "")
    faulty = switchyard("compile", "-f", "-", stdin="kind: [")
    assert (faulty.returncode, faulty.stdout) == (2, "")
    assert faulty.stderr.startswith("error: standard input:1:8: is not well-formed YAML")


def test_all_gateways_are_printed_unless_one_is_chosen(tmp_path: Path) -> None:
    """In order of their names."""
    second = gateway().replace("name: main", "name: another")
    folder = manifests(tmp_path / "m", a=gateway(), b=second)
    assert [each["metadata"]["name"] for each in printed("-f", folder)[::2]] == [
        "switchyard-another",
        "switchyard-main",
    ]
    chosen = printed("-f", folder, "--gateway", "agents/main")
    assert [each["metadata"]["name"] for each in chosen] == ["switchyard-main", "switchyard-main"]


def test_findings_are_printed_with_their_places_and_the_rest_is_compiled(tmp_path: Path) -> None:
    """On standard error, once each; the exit code says that something is left out."""
    folder = manifests(
        tmp_path / "m",
        a=gateway("{name: a}", "{name: gone}"),
        b=backend("a", "http://a/", BEARER) + OTHER_KIND,
    )
    done = switchyard("compile", "-f", folder)
    assert done.returncode == 1
    assert done.stderr.splitlines() == [
        "note: not used here: 1 Deployment",
        (
            f"error: {folder}/b.yaml:5:47: MCPBackend agents/a: spec.auth.secretKeyRef: there is no Secret agents/gh with the "
            'label switchyard.dev/credential: "true"; the backend is left out [SecretNotFound]'
        ),
        (
            f"error: {folder}/a.yaml:5:30: MCPGateway agents/main: spec.backends[1]: there is no MCPBackend agents/gone "
            "[BackendNotFound]"
        ),
    ]
    config = json.loads(next(yaml.safe_load_all(done.stdout))["data"]["gateway.json"])
    assert [each["unresolved"] for each in config["backends"]] == ["SecretNotFound", "BackendNotFound"]


@pytest.mark.parametrize(
    ("texts", "arguments", "errors"),
    [
        pytest.param(
            {"a": gateway("{name: a, prefx: x}", spec="pageSize: many")},
            [],
            [
                ("error: FOLDER/a.yaml:5:29: MCPGateway agents/main: spec.backends[0].prefx: there is no such field; did "
                "you mean prefix?"),
                ('error: FOLDER/a.yaml:5:41: MCPGateway agents/main: spec.pageSize: "many": must be a whole number, '
                "without quotes"),
            ],
            id="an unknown field and a wrong type",
        ),
        pytest.param(
            {"a": backend("a", "http://a/")},
            [],
            ["error: there is no MCPGateway in these files; declare one, or name more files with -f"],
            id="no gateway",
        ),
        pytest.param({}, [], ["error: there is no MCPGateway in these files; declare one, or name more files with -f"], id="an empty folder"),
        pytest.param(
            {"a": gateway()},
            ["--gateway", "agents/other"],
            ["error: there is no MCPGateway agents/other in these files; there is agents/main"],
            id="another gateway",
        ),
        pytest.param(
            {"a": gateway()},
            ["-f", "FOLDER/gone.yaml"],
            ["error: FOLDER/gone.yaml: cannot be read: No such file or directory"],
            id="a missing file",
        ),
        pytest.param(
            {"a": gateway(spec="auth: {}")},
            [],
            [
                ("error: FOLDER/a.yaml:5:22: MCPGateway agents/main: spec.auth: must have at least one of jwt, kubernetes and "
                "tokens: otherwise nobody is let in")
            ],
            id="a gateway that lets nobody in",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("command", ["compile", "run"])
def test_input_that_cannot_be_used_ends_with_a_line_for_each_mistake(
    command: str, texts: dict[str, str], arguments: list[str], errors: list[str], tmp_path: Path
) -> None:
    """Exit code 2, nothing on standard output, no traceback."""
    folder = manifests(tmp_path / "m", **texts)
    done = switchyard(command, "-f", folder, *(each.replace("FOLDER", str(folder)) for each in arguments))
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.replace(str(folder), "FOLDER") for line in done.stderr.splitlines()] == errors


def test_several_gateways_to_run_must_be_chosen_from(tmp_path: Path) -> None:
    """The message names them."""
    folder = manifests(tmp_path / "m", a=gateway(), b=gateway().replace("name: main", "name: another"))
    done = switchyard("run", "-f", folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr == "error: there are several gateways: choose one with --gateway, of agents/another, agents/main\n"
    )


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """With the system's reason; links in a circle are what even root cannot open."""
    (tmp_path / "a.yaml").symlink_to("a.yaml")
    done = switchyard("compile", "-f", tmp_path / "a.yaml")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: {tmp_path}/a.yaml: cannot be read: Too many levels of symbolic links\n"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["compile"], "the following arguments are required: -f/--file"),
        (["compile", "-f", "a", "--gateway", "a/b/c"], "'a/b/c' is not of the form NAMESPACE/NAME"),
        (["run", "-f", "a", "--port", "70000"], "'70000' is no port: a number from 0 to 65535"),
        (["run", "-f", "a", "--path", "mcp"], "'mcp' does not begin with '/'"),
        (["pin"], "the following arguments are required: -f/--file"),
        (["pim"], "invalid choice: 'pim'"),
    ],
)
def test_wrong_arguments_are_said_with_usage(arguments: list[str], complaint: str) -> None:
    """As every command does it: exit code 2."""
    done = switchyard(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert complaint in done.stderr


INSTALL = "pip install 'mcp-switchyard[cli]'"


@pytest.mark.parametrize(
    ("pip", "remedy"),
    [
        pytest.param("sys", INSTALL, id="beside pip"),
        pytest.param(
            "None",
            "there is no pip here, so use the operator's pod (`kubectl exec -i -n switchyard-system deploy/switchyard-operator -- "
            f"switchyard COMMAND -f - < FILE`), or elsewhere {INSTALL}",
            id="in an image",
        ),
    ],
)
def test_without_pyyaml_the_command_says_where_it_is(pip: str, remedy: str) -> None:
    """`pip install mcp-switchyard` brings none. The sidecar's image has neither it nor pip; the operator's pod has it."""
    program = (
        f"import sys; sys.modules['yaml'] = None; sys.modules['pip'] = {pip}; "
        "from switchyard_operator.cli.main import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "compile", "-f", "x"],
        capture_output=True,
        text=True,
        timeout=START_S,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"error: manifests need PyYAML: {remedy}\n"


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    """As in `switchyard compile ... | head`."""
    folder = manifests(tmp_path / "m", a=gateway(*(f"{{name: a{number}}}" for number in range(200))))
    process = subprocess.Popen([SWITCHYARD, "compile", "-f", folder], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert b"Traceback" not in process.stderr.read()
    process.stderr.close()
    process.wait(timeout=START_S)
