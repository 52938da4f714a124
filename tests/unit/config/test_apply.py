"""Applying a config: which backends go on, which start again, and what becomes of their last list."""

from pathlib import Path
from typing import Any

import pytest

from switchyard_sidecar.config.apply import Applied, Fate, plan
from switchyard_sidecar.config.load import load
from unit.config.directory import backend, bearer, credential, gateway, write


def applied(tmp_path: Path, *steps: tuple[dict[str, Any], dict[str, bytes]]) -> Applied:
    """What runs after these configs and credentials, one after the other."""
    result: Applied | None = None
    for number, (config, credentials) in enumerate(steps):
        write(tmp_path / str(number), config, credentials)
        result = plan(result, load(tmp_path / str(number)))
    assert result is not None
    return result


A = backend("a")


@pytest.mark.parametrize(
    ("before", "after", "fate"),
    [
        pytest.param(A, A, Fate.UNCHANGED, id="nothing"),
        pytest.param(A, A | {"timeouts": {"listMs": 5_000}}, Fate.UNCHANGED, id="a default spelled out"),
        pytest.param(A, A | {"timeouts": {"listMs": 1}}, Fate.KEEP, id="a timeout"),
        pytest.param(A, A | {"prefix": "x"}, Fate.KEEP, id="a prefix"),
        pytest.param(A, A | {"filters": [{"include": ["a*"]}]}, Fate.KEEP, id="a filter"),
        pytest.param(A, A | {"protocol": "Legacy"}, Fate.KEEP, id="the pinned era"),
        pytest.param(A, A | {"tls": {"ca": credential("cred_a")}}, Fate.KEEP, id="whom to trust"),
        pytest.param(A, A | {"url": "http://other/mcp"}, Fate.REPLACE, id="url"),
        pytest.param(A, A | {"hostHeader": "other"}, Fate.REPLACE, id="host"),
        pytest.param(A, A | {"transport": "SSE"}, Fate.REPLACE, id="transport"),
        pytest.param(A, A | {"headers": [{"name": "X-Team", "value": "b"}]}, Fate.REPLACE, id="a header"),
        pytest.param(A, A | {"auth": {"type": "Forward"}}, Fate.REPLACE, id="kind of authorisation"),
        pytest.param(A, bearer("a", "cred_a"), Fate.REPLACE, id="a token"),
        pytest.param(
            A, A | {"tls": {"clientCertificate": credential("cred_a")}}, Fate.REPLACE, id="a client certificate"
        ),
        pytest.param(
            bearer("a", "cred_a"), bearer("a", "cred_b"), Fate.UNCHANGED, id="the same token under another name"
        ),
        pytest.param(bearer("a", "cred_a"), bearer("a", "cred_c", b"other"), Fate.REPLACE, id="another token"),
        pytest.param(A, A | {"unresolved": "RefNotPermitted"}, Fate.EMPTY, id="may no longer be asked"),
        pytest.param(A | {"unresolved": "RefNotPermitted"}, A, Fate.EMPTY, id="may be asked again"),
        pytest.param(backend("b"), A, Fate.EMPTY, id="new"),
    ],
)
def test_fate_of_a_backend(tmp_path: Path, before: dict[str, Any], after: dict[str, Any], fate: Fate) -> None:
    """Only a changed section restarts; the snapshot survives unless it may be another backend's or another account's."""
    files = {"cred_a": b"s3cret", "cred_b": b"s3cret", "cred_c": b"other"}
    result = applied(tmp_path, (gateway(before), files), (gateway(after), files))
    assert result.backends["tools/a"].fate is fate
    assert result.backends["tools/a"].config == result.config.backends[0]


def test_neighbours_are_left_alone(tmp_path: Path) -> None:
    """A backend added, one removed and one moved: the others' sections are the same, so nothing happens to them."""
    before = gateway(A, backend("b"), backend("c"))
    after = gateway(backend("c"), backend("d"), A)
    result = applied(tmp_path, (before, {}), (after, {}))
    assert {id_: each.fate for id_, each in result.backends.items()} == {
        "tools/c": Fate.UNCHANGED,
        "tools/d": Fate.EMPTY,
        "tools/a": Fate.UNCHANGED,
    }
    assert list(result.backends) == ["tools/c", "tools/d", "tools/a"]
    assert result.removed == ("tools/b",)


def test_other_addresses_allowed_restart_every_connection(tmp_path: Path) -> None:
    """A connection that stands may lead where none may be made any more. Lists stay, and what starts anew anyway does that."""
    before = gateway(A, backend("b")) | {"egress": {"allowedAddresses": ["169.254.1.0/24"]}}
    after = gateway(A, backend("b", url="http://other/mcp"))
    result = applied(tmp_path, (before, {}), (after, {}), (after, {}))
    assert {each.fate for each in result.backends.values()} == {Fate.UNCHANGED}
    result = applied(tmp_path, (before, {}), (after, {}))
    assert [each.fate for each in result.backends.values()] == [Fate.KEEP, Fate.REPLACE]


def test_rotated_key_restarts_nobody(tmp_path: Path) -> None:
    """Revisions are only how arrival is recognised: with the same secret under a new key, nothing changes."""
    before = gateway(bearer("a", "cred_a"))
    write(tmp_path / "before", before, {"cred_a": b"s3cret"})
    after = gateway(bearer("a", "cred_a"))
    after["backends"][0]["auth"]["credential"]["revision"] = (
        "0ea7a5e2da1e0a6adf83b0f7dd0e2b8e6ad5a5e1c2a4bb3b4f0a6b8b0c5d3c1f"
    )
    write(tmp_path / "after", after, {"cred_a": b"s3cret", "cred_key": b"new key"})
    old = plan(None, load(tmp_path / "before"))
    new = load(tmp_path / "after")
    assert new.pending == {"tools/a"}
    assert plan(old, new).backends["tools/a"].fate is Fate.UNCHANGED


def test_backend_keeps_its_former_section_until_its_credential_arrives(tmp_path: Path) -> None:
    """ConfigMap before Secret: the backend runs on as it was, then restarts as told; others follow at once."""
    before = gateway(bearer("a", "cred_a", b"old"), backend("b"))
    after = gateway(backend("b", url="http://b2/mcp"), bearer("a", "cred_a", b"new") | {"url": "http://a2/mcp"})
    first = (before, {"cred_a": b"old"})
    early = (after, {"cred_a": b"old"})
    late = (after, {"cred_a": b"new"})

    meanwhile = applied(tmp_path / "1", first, early)
    assert [(each.id, each.url) for each in meanwhile.config.backends] == [
        ("tools/b", "http://b2/mcp"),
        ("tools/a", "http://a/mcp"),
    ]
    assert meanwhile.backends["tools/a"].credentials == {"cred_a": b"old"}
    assert meanwhile.backends["tools/a"].fate is Fate.UNCHANGED
    assert meanwhile.backends["tools/a"].waiting
    assert not meanwhile.backends["tools/b"].waiting

    finally_ = applied(tmp_path / "2", first, early, late)
    assert finally_.backends["tools/a"].config.url == "http://a2/mcp"
    assert finally_.backends["tools/a"].credentials == {"cred_a": b"new"}
    assert finally_.backends["tools/a"].fate is Fate.REPLACE
    assert not finally_.backends["tools/a"].waiting


def test_what_of_a_backend_may_be_shown_does_not_wait_for_its_credential(tmp_path: Path) -> None:
    """Filters, pins and the prefix that rules are written for hold at once, for the backend as it was asked before."""
    rules = {"prefix": "p", "filters": [{"exclude": ["b"]}], "pinning": {"mode": "Enforce"}}
    before = gateway(bearer("a", "cred_a", b"old"))
    after = gateway(bearer("a", "cred_a", b"new") | {"url": "http://a2/mcp", **rules})
    waits = applied(tmp_path, (before, {"cred_a": b"old"}), (after, {"cred_a": b"old"})).backends["tools/a"]
    assert (waits.config.url, waits.credentials) == ("http://a/mcp", {"cred_a": b"old"})
    assert (waits.config.prefix, waits.config.pinning.mode) == ("p", "Enforce")
    assert [each.exclude for each in waits.config.filters] == [("b",)]
    assert (waits.fate, waits.waiting) == (Fate.KEEP, True)


def test_vanished_credential_changes_nothing_while_the_process_lives(tmp_path: Path) -> None:
    """Secret gone before the ConfigMap says so: the backend goes on with what it has."""
    config = gateway(bearer("a", "cred_a"))
    result = applied(tmp_path, (config, {"cred_a": b"s3cret"}), (config, {}))
    assert result.backends["tools/a"].fate is Fate.UNCHANGED
    assert result.backends["tools/a"].credentials == {"cred_a": b"s3cret"}


def test_new_backend_waits_for_its_credential(tmp_path: Path) -> None:
    """Without a former section it is unresolved, keeps its place, and starts when the file comes."""
    config = gateway(bearer("a", "cred_a"))
    waiting = applied(tmp_path / "1", (config, {}), (config, {}))
    assert waiting.backends["tools/a"].config.unresolved == "CredentialPending"
    assert waiting.backends["tools/a"].fate is Fate.UNCHANGED
    assert waiting.backends["tools/a"].waiting
    arrived = applied(tmp_path / "2", (config, {}), (config, {"cred_a": b"s3cret"}))
    assert arrived.backends["tools/a"].config.unresolved is None
    assert arrived.backends["tools/a"].fate is Fate.EMPTY


def test_revocation_does_not_wait(tmp_path: Path) -> None:
    """A section that says unresolved needs no file, and takes the credential away at once."""
    result = applied(
        tmp_path,
        (gateway(bearer("a", "cred_a")), {"cred_a": b"s3cret"}),
        (gateway(bearer("a", "cred_a") | {"unresolved": "RefNotPermitted"}), {}),
    )
    assert result.backends["tools/a"].credentials == {}
    assert result.backends["tools/a"].fate is Fate.EMPTY


def test_session_keys_follow_their_files(tmp_path: Path) -> None:
    """Current and previous key, the former ones while new ones have not arrived, none when none is named."""
    one = gateway(sessionKey=credential("cred_1", b"1"))
    two = gateway(sessionKey=credential("cred_2", b"2"), previousSessionKey=credential("cred_1", b"1"))
    assert applied(tmp_path / "1", (one, {})).session_keys == ()
    assert applied(tmp_path / "2", (one, {"cred_1": b"1"})).session_keys == (b"1",)
    assert applied(tmp_path / "3", (one, {"cred_1": b"1"}), (two, {"cred_1": b"1"})).session_keys == (b"1",)
    assert applied(tmp_path / "4", (two, {"cred_1": b"1", "cred_2": b"2"})).session_keys == (b"2", b"1")
    assert applied(tmp_path / "5", (one, {"cred_1": b"1"}), (gateway(), {})).session_keys == ()


CI = {"name": "ci", "credential": credential("cred_ci", b"first")}
ISSUER = {"issuer": "https://i.example", "audiences": ["a"], "jwksUrl": "https://i.example/jwks"}


def lets_in(result: Applied) -> dict[str, str]:
    """Static tokens in force: name to secret."""
    assert result.authentication is not None
    return {token.config.name: token.secret for token in result.authentication.tokens}


@pytest.mark.parametrize(
    ("claims", "meanwhile"), [({"team": "a"}, {"ci": "first"}), ({"team": "b"}, {})], ids=["rotated", "other claims"]
)
def test_static_token_stays_until_its_file_arrives(
    tmp_path: Path, claims: dict[str, str], meanwhile: dict[str, str]
) -> None:
    """If it stands for the same: an old token gets no new claims, and old claims meet no new rules."""
    before = gateway(authentication={"tokens": [{**CI, "claims": {"team": "a"}}]})
    changed = {**CI, "credential": credential("cred_ci", b"second\n"), "claims": claims}
    new = {"name": "new", "credential": credential("cred_new", b"third")}
    after = gateway(authentication={"tokens": [changed, new]})
    waits = applied(tmp_path / "waits", (before, {"cred_ci": b"first"}), (after, {"cred_ci": b"first"}))
    assert lets_in(waits) == meanwhile
    assert waits.authentication is not None
    assert waits.authentication.waiting == ("token ci", "token new")
    files = {"cred_ci": b"second\n", "cred_new": b"third"}
    arrived = applied(tmp_path / "arrived", (before, {"cred_ci": b"first"}), (after, files))
    assert lets_in(arrived) == {"ci": "second", "new": "third"}
    assert arrived.authentication is not None
    assert arrived.authentication.waiting == ()


def test_removed_token_is_gone_at_once(tmp_path: Path) -> None:
    """Whatever its file says; another that takes over its file does not take over its bytes."""
    before = gateway(authentication={"tokens": [CI]})
    other = {"name": "admin", "credential": credential("cred_ci", b"second")}
    files = {"cred_ci": b"first"}
    assert lets_in(applied(tmp_path / "gone", (before, files), (gateway(authentication={}), files))) == {}
    taken = applied(tmp_path / "taken", (before, files), (gateway(authentication={"tokens": [other]}), files))
    assert lets_in(taken) == {}


def test_issuer_whose_authority_has_not_arrived_keeps_its_former_section(tmp_path: Path) -> None:
    """If its tokens are taken on the same terms. One on others, or a new one, waits, and stands for nobody until then."""
    with_ca = {**ISSUER, "ca": credential("cred_ca", b"pem")}
    before: tuple[dict[str, Any], dict[str, bytes]] = (gateway(authentication={"issuers": [ISSUER]}), {})
    for number, (steps, section, expected) in enumerate(
        (
            ([before], with_ca, (("a",), False, False)),
            ([before], {**with_ca, "jwksUrl": "https://j.example/jwks"}, (("a",), False, False)),
            ([before], {**with_ca, "audiences": ["b"]}, (("b",), True, True)),
            ([], with_ca, (("a",), True, True)),
        )
    ):
        after = gateway(authentication={"issuers": [section]})
        for name, files in (("waits", {}), ("arrived", {"cred_ca": b"pem"})):
            result = applied(tmp_path / f"{number} {name}", *steps, (after, files))
            assert result.authentication is not None
            (issuer,) = result.authentication.issuers
            audiences, waiting, has_ca = expected if name == "waits" else (tuple(section["audiences"]), False, True)
            assert (issuer.config.audiences, issuer.waiting, issuer.config.ca is not None) == (
                audiences,
                waiting,
                has_ca,
            )
            assert (issuer.ca == b"pem") is (name == "arrived")


def test_gateway_without_the_section_is_open_and_one_with_an_empty_section_is_not(tmp_path: Path) -> None:
    """They are never mistaken for each other."""
    assert applied(tmp_path / "open", (gateway(), {})).authentication is None
    assert applied(tmp_path / "closed", (gateway(authentication={}), {})).authentication is not None


def test_no_secret_is_shown(tmp_path: Path) -> None:
    """What runs can be logged: neither what backends get, nor what callers present, nor what sessions are signed with."""
    tokens = {"tokens": [{"name": "robot", "credential": credential("cred_robot", b"t0ken")}]}
    config = gateway(bearer("a", "cred_a"), authentication=tokens, sessionKey=credential("cred_session", b"k3y"))
    result = applied(tmp_path, (config, {"cred_a": b"s3cret", "cred_robot": b"t0ken", "cred_session": b"k3y"}))
    assert result.session_keys == (b"k3y",)
    assert result.authentication is not None
    assert [each.secret for each in result.authentication.tokens] == ["t0ken"]
    assert not [each for each in ("s3cret", "t0ken", "k3y") if each in repr(result)]
