"""Reading a config directory: what is accepted, what is refused and how it is said."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from switchyard_sidecar.config.load import ConfigError, ConfigMissing, load, parse
from unit.config.directory import KEY, backend, bearer, credential, gateway, project, write


def test_plain_directory_is_read(tmp_path: Path) -> None:
    """A directory of plain files, as on a laptop, gives config and credentials."""
    write(tmp_path, gateway(bearer("a", "cred_a"), backend("b")), {"cred_a": b"s3cret"})
    loaded = load(tmp_path)
    assert [each.id for each in loaded.config.backends] == ["tools/a", "tools/b"]
    assert loaded.credentials == {"cred_a": b"s3cret"}
    assert loaded.pending == frozenset()
    assert loaded.warnings == ()


def test_projected_volume_is_read_through_its_links(tmp_path: Path) -> None:
    """In a pod each file is a link through ``..data``; the newest folder counts."""
    project(tmp_path, "1", gateway(backend("a")))
    project(tmp_path, "2", gateway(bearer("b", "cred_b")), {"cred_b": b"s3cret"})
    loaded = load(tmp_path)
    assert [each.id for each in loaded.config.backends] == ["tools/b"]
    assert loaded.credentials == {"cred_b": b"s3cret"}


def test_gateway_without_backends_is_valid(tmp_path: Path) -> None:
    """An empty federation is a config like any other."""
    write(tmp_path, gateway())
    assert load(tmp_path).config.backends == ()


def test_compressed_config_is_read(tmp_path: Path) -> None:
    """A config too large for a ConfigMap comes as gzip."""
    write(tmp_path, gateway())
    (tmp_path / "gateway.json").unlink()
    (tmp_path / "gateway.json.gz").write_bytes(gzip.compress(json.dumps(gateway(backend("a"))).encode(), mtime=0))
    assert [each.id for each in load(tmp_path).config.backends] == ["tools/a"]


@pytest.mark.parametrize(
    ("credentials", "pending"),
    [
        pytest.param({}, {"tools/a", "tools/both"}, id="missing"),
        pytest.param({"cred_a": b"other"}, {"tools/a", "tools/both"}, id="another revision"),
        pytest.param(
            {"cred_a": b"s3cret", "cred_key": b"other key"}, {"tools/a", "tools/b", "tools/both"}, id="another key"
        ),
        pytest.param({"cred_a": b"s3cret", "cred_key": b""}, {"tools/a", "tools/b", "tools/both"}, id="no key"),
        pytest.param({"cred_a": b"s3cret"}, set(), id="all there"),
        pytest.param({"cred_a": b"x" * (1024 * 1024 + 1)}, {"tools/a", "tools/both"}, id="too large to be a secret"),
    ],
)
def test_credential_that_has_not_arrived_costs_its_backends(
    tmp_path: Path, credentials: dict[str, bytes], pending: set[str]
) -> None:
    """Every backend that needs the file is pending, no other is, and the config is usable."""
    both = backend(
        "both", headers=[{"name": "A", "credential": credential("cred_a")}], tls={"ca": credential("cred_b", b"b")}
    )
    sections = [bearer("a", "cred_a"), bearer("b", "cred_b", b"b"), both, backend("none")]
    write(tmp_path, gateway(*sections), {"cred_b": b"b", **credentials})
    assert load(tmp_path).pending == pending


def test_unresolved_backend_needs_no_credentials(tmp_path: Path) -> None:
    """What cannot be asked waits for nothing."""
    write(tmp_path, gateway(bearer("a", "cred_a") | {"unresolved": "SecretNotFound"}))
    assert load(tmp_path).pending == frozenset()


@pytest.mark.parametrize(("arrived", "pending"), [({"cred_session": b"k"}, False), ({}, True)])
def test_session_keys_arrive_like_credentials(tmp_path: Path, arrived: dict[str, bytes], pending: bool) -> None:
    """The keys of session ids are files too."""
    write(tmp_path, gateway(sessionKey=credential("cred_session", b"k")), arrived)
    assert load(tmp_path).session_keys_pending is pending


def test_unknown_keys_are_ignored_and_named(tmp_path: Path) -> None:
    """A newer writer's optional keys do no harm; each is named once, however many backends have it."""
    sections = [backend("a", moods={}), backend("b", moods={}, timeouts={"listMs": 1, "thinkMs": 2})]
    write(tmp_path, gateway(*sections, colour="red", requires=["backends.timeouts.listMs", "naming"]))
    assert load(tmp_path).warnings == (
        "gateway.json: backends.moods is not known to this sidecar and was ignored",
        "gateway.json: backends.timeouts.thinkMs is not known to this sidecar and was ignored",
        "gateway.json: colour is not known to this sidecar and was ignored",
    )


REMEDY = "it is written by the Switchyard operator or `switchyard`; their version and this sidecar's may differ"


@pytest.mark.parametrize(
    ("config", "message"),
    [
        pytest.param(
            gateway(requires=["backends.moods"]),
            "gateway.json: requires: this sidecar does not know 'backends.moods' (upgrade it)",
            id="a required key that is not known",
        ),
        pytest.param(
            gateway(format=2, backends=7),
            "gateway.json: format: 2 (this sidecar reads format 1; upgrade it)",
            id="format",
        ),
        pytest.param({"namespace": "a"}, f"gateway.json: name: Field required ({REMEDY})", id="missing"),
        pytest.param(
            gateway(order="Random"),
            f"gateway.json: order: Input should be 'Name' or 'Backend': 'Random' ({REMEDY})",
            id="value",
        ),
        pytest.param(
            gateway(backend("a", timeouts={"listMs": "soon" * 100})),
            "gateway.json: backends.0.timeouts.listMs: Input should be a valid integer, unable to parse string as an integer: "
            f"'soonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoonsoo... ({REMEDY})",
            id="long value",
        ),
        pytest.param(
            gateway(backend("a"), backend("a")),
            f"gateway.json: backends.1: tools/a is there twice ({REMEDY})",
            id="twice",
        ),
        pytest.param(
            gateway(backend("a", url="file:///etc/passwd")),
            f"gateway.json: backends.0.url: not an http or https URL: 'file:///etc/passwd' ({REMEDY})",
            id="url",
        ),
        pytest.param(
            gateway(backend("a", auth={"type": "Bearer"})),
            f"gateway.json: backends.0.auth: a credential is for type Bearer, which needs one ({REMEDY})",
            id="bearer without token",
        ),
        pytest.param(
            gateway(backend("a", headers=[{"name": "X-A"}])),
            f"gateway.json: backends.0.headers: 'X-A' needs either a value or a credential ({REMEDY})",
            id="header without value",
        ),
        pytest.param([], f"gateway.json: is not a JSON object ({REMEDY})", id="no object"),
    ],
)
def test_unusable_config_is_refused_with_file_field_value_and_remedy(tmp_path: Path, config: Any, message: str) -> None:
    """Whoever reads the message knows where to look and what to do."""
    write(tmp_path, config)
    with pytest.raises(ConfigError) as caught:
        load(tmp_path)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("config", "at"),
    [
        (gateway(pageSize=-5), "pageSize"),
        (gateway(naming={"maxLength": 23}), "naming.maxLength"),
        (gateway(listener={"port": 65_536}), "listener.port"),
        (gateway(listener={"path": "mcp"}), "listener.path"),
        (gateway(backend("a", timeouts={"listMs": 0})), "backends.0.timeouts.listMs"),
        (gateway(backend("a", timeouts={"callMaxMs": 10**20})), "backends.0.timeouts.callMaxMs"),
        (gateway(backend("a", cache={"maxTtlMs": -1})), "backends.0.cache.maxTtlMs"),
        (gateway(backend("a", limits={"tools": 0})), "backends.0.limits.tools"),
        (gateway(backend("a", limits={"bytes": 10**30})), "backends.0.limits.bytes"),
    ],
)
def test_value_without_meaning_is_refused(config: Any, at: str) -> None:
    """What would fail once it is in use, such as a page of minus five tools, must not come so far."""
    with pytest.raises(ConfigError, match=rf"^gateway\.json: {at}: "):
        parse(json.dumps(config).encode())


@pytest.mark.parametrize(
    "content", [b"", b"{", b"\xff", b'{"a":"\\ud800"}', b"[" * 100_000, b'{"name":"' + b"x" * 16 * 1024 * 1024 + b'"}']
)
def test_any_bytes_give_a_config_error(tmp_path: Path, content: bytes) -> None:
    """No file content, however broken or large, ends in anything else."""
    (tmp_path / "gateway.json").write_bytes(content)
    with pytest.raises(ConfigError, match=r"^gateway\.json: ") as caught:
        load(tmp_path)
    assert not isinstance(caught.value, ConfigMissing)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"no gzip",
        gzip.compress(b"{}", mtime=0)[:-4],
        gzip.compress(b" " * (17 * 1024 * 1024), mtime=0),
        gzip.compress(b"x", mtime=0),
    ],
)
def test_any_bytes_give_a_config_error_compressed(tmp_path: Path, content: bytes) -> None:
    """The same for gzip: truncated, not gzip at all, or unpacking to more than the limit."""
    (tmp_path / "gateway.json.gz").write_bytes(content)
    with pytest.raises(ConfigError, match=r"^gateway\.json\.gz: "):
        load(tmp_path)


@pytest.mark.parametrize("present", [None, "directory", "credentials"])
def test_missing_config_is_told_from_a_broken_one(tmp_path: Path, present: str | None) -> None:
    """No directory, or one without a config file, may simply not be there yet."""
    directory = tmp_path / "config"
    if present:
        directory.mkdir()
    if present == "credentials":
        (directory / "cred_key").write_bytes(KEY)
    with pytest.raises(ConfigMissing):
        load(directory)


def test_unreadable_credential_costs_its_backend_alone(tmp_path: Path) -> None:
    """A credential file that is no file is reported, and the rest is served."""
    write(tmp_path, gateway(bearer("a", "cred_a"), backend("b")))
    (tmp_path / "cred_a").mkdir()
    loaded = load(tmp_path)
    assert loaded.pending == {"tools/a"}
    assert loaded.warnings == ("cred_a: cannot be read: Is a directory (see its type and permissions)",)


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """Neither what was read nor an error about a header shows a secret."""
    write(tmp_path, gateway(bearer("a", "cred_a")), {"cred_a": b"s3cret"})
    assert "s3cret" not in repr(load(tmp_path))
    for headers in ([{"name": "A", "value": ["s3cret"]}], ["A: s3cret"], "A: s3cret"):
        with pytest.raises(ConfigError) as caught:
            parse(json.dumps(gateway(backend("a", headers=headers))).encode())
        assert "s3cret" not in str(caught.value)
