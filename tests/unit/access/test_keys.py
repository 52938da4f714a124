"""Which keys of a set are used, and for what."""

import contextlib
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from fakes.issuer import SigningKey, key_set
from switchyard_sidecar.access.keys import MAX_KEYS, KeySet
from switchyard_sidecar.access.refusals import KeySetError
from switchyard_sidecar.config.model import SIGNATURE_ALGORITHMS

ALL = sorted(SIGNATURE_ALGORITHMS)


def read(*entries: Any, algorithms: list[str] = ALL) -> KeySet:
    return KeySet.of(json.dumps({"keys": entries}), algorithms)


@pytest.mark.parametrize("algorithm", ALL)
def test_key_serves_its_algorithm_alone(algorithm: str) -> None:
    """One that names it, under its id, and where the config allows it."""
    key = SigningKey.make("k", algorithm)
    keys = read(key.published())
    assert [len(keys.find("k", each)) for each in ALL] == [int(each == algorithm) for each in ALL]
    assert keys.find("other", algorithm) == ()
    others = [each for each in ALL if each != algorithm]
    with pytest.raises(KeySetError):
        read(key.published(), algorithms=others)


def test_key_that_names_no_algorithm_serves_all_of_its_kind() -> None:
    """RSA keys sign with several; a curve leaves no choice."""
    keys = read(SigningKey.make("r", "RS256").published(alg=None), SigningKey.make("e", "ES384").published(alg=None))
    served = {name: [each for each in ALL if keys.find(name, each)] for name in ("r", "e")}
    assert served == {"r": ["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"], "e": ["ES384"]}


def test_token_without_a_key_id_means_the_only_key_of_its_algorithm() -> None:
    """Of two, neither."""
    one, two, other = SigningKey.make("1"), SigningKey.make("2"), SigningKey.make("3", "EdDSA")
    assert len(read(one.published(), other.published()).find(None, "ES256")) == 1
    assert read(one.published(), two.published()).find(None, "ES256") == ()
    assert len(read(one.published(kid=None)).find(None, "ES256")) == 1
    assert read(one.published(kid=None)).find("1", "ES256") == ()


def test_two_keys_of_one_id_are_both_tried() -> None:
    """Ids should differ; where they do not, nobody is lost."""
    one, two = SigningKey.make("k"), SigningKey.make("k")
    assert len(read(one.published(), two.published()).find("k", "ES256")) == 2


@pytest.mark.parametrize(
    "members",
    [
        pytest.param({"use": "enc"}, id="for encryption"),
        pytest.param({"key_ops": ["sign"]}, id="not to verify with"),
        pytest.param({"key_ops": "verify"}, id="operations that are no list"),
        pytest.param({"alg": "none"}, id="for none"),
        pytest.param({"alg": "HS256"}, id="for a symmetric algorithm"),
        pytest.param({"alg": ["ES256"]}, id="for what is no algorithm"),
        pytest.param({"kty": "oct", "k": "AAAA"}, id="a shared secret"),
        pytest.param({"d": "AAAA"}, id="a private key"),
        pytest.param({"crv": "P-384"}, id="of another curve"),
        pytest.param({"crv": 7}, id="of no curve"),
        pytest.param({"x": "AAAA"}, id="not a point"),
        pytest.param({"x": None}, id="half a point"),
        pytest.param({"x": 7}, id="a number"),
        pytest.param({"kty": None}, id="of no type"),
    ],
)
def test_key_of_no_use_is_passed_over(members: dict[str, Any]) -> None:
    """The others of the set are used; a set of such keys alone is no answer."""
    odd, good = SigningKey.make("odd").published(**members), SigningKey.make("good").published()
    keys = read(odd, "no key", good)
    assert keys.find("odd", "ES256") == ()
    assert len(keys.find("good", "ES256")) == 1
    with pytest.raises(KeySetError, match="no usable key"):
        read(odd)


def test_id_that_nests_as_deep_as_can_just_be_read_is_no_fault_of_ours() -> None:
    """A little deeper and the text is no JSON to us; a little less and it is a key without an id. Between is where it could go wrong."""
    text = json.dumps({"keys": [SigningKey.make("k").published(kid="@")]})
    for depth in range(1, 1100):
        with contextlib.suppress(KeySetError):
            KeySet.of(text.replace('"@"', "[" * depth + "]" * depth), ["ES256"])


def test_short_rsa_key_is_not_used() -> None:
    """RFC 7518 (section 3.3) asks for 2048 bits."""
    short = SigningKey("k", "RS256", rsa.generate_private_key(65537, 1024))  # noqa: S505 - that is the point
    with pytest.raises(KeySetError):
        read(short.published())


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"keys":{}}', '{"keys":null}', "null", b"\xff", "[" * 100_000])
def test_what_is_no_key_set_is_no_answer(text: str | bytes) -> None:
    """Whatever it is."""
    with pytest.raises(KeySetError):
        KeySet.of(text, ALL)


def test_empty_key_set_is_believed() -> None:
    """It says that no key is good any more."""
    assert read().marks == frozenset()


def test_same_keys_are_known_again_however_they_are_written() -> None:
    """Order and members of no account make no other set; a key that goes, or becomes another under its id, does."""
    one, two = SigningKey.make("1"), SigningKey.make("2")
    before = read(one.published(), two.published())
    assert read(two.published(x5t="abc"), one.published()).marks == before.marks
    assert read(one.published()).marks < before.marks
    assert read(one.published(), SigningKey.make("2").published()).marks != before.marks


def test_set_is_bounded() -> None:
    """What comes after so many keys is not looked at."""
    keys = KeySet.of(key_set(SigningKey.make(str(number)) for number in range(MAX_KEYS + 1)), ["ES256"])
    assert len(keys.marks) == MAX_KEYS
