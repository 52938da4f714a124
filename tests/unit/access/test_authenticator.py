"""What is remembered of a token: its signature is checked once, and whatever ends it ends what is remembered."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from multidict import CIMultiDict

from fakes.issuer import AUDIENCE, SigningKey, good_claims, key_set
from switchyard_sidecar.access.authenticator import Authenticator
from switchyard_sidecar.access.caller import Caller
from switchyard_sidecar.access.pace import Pace
from switchyard_sidecar.access.refusals import Denied
from switchyard_sidecar.config.apply import AppliedAuthentication, AppliedIssuer
from switchyard_sidecar.config.model import Issuer

ISSUER = "https://issuer.example"
ONE, TWO = SigningKey.make("one"), SigningKey.make("two")


def trusting(*keys: SigningKey, **terms: object) -> AppliedAuthentication:
    """Tokens of the issuer are taken that these keys have signed, on these terms."""
    section = {"issuer": ISSUER, "audiences": [AUDIENCE], "jwks": key_set(keys), **terms}
    return AppliedAuthentication((AppliedIssuer(Issuer.model_validate(section)),), (), ())


@asynccontextmanager
async def authenticator(applied: AppliedAuthentication, pace: Pace | None = None) -> AsyncIterator[Authenticator]:
    """One that runs."""
    async with asyncio.TaskGroup() as tasks:
        made = Authenticator(tasks, _unreachable, pace or Pace(), lambda: None)
        made.configure(applied, forwards=False)
        yield made
        made.retire()


async def _unreachable(_: AppliedIssuer) -> bytes:
    raise AssertionError("keys that stand in the config are not fetched")


async def asks(door: Authenticator, token: str) -> Caller:
    """Who presents this token."""
    return await door.caller(CIMultiDict({"Authorization": f"Bearer {token}"}), "")


async def test_signature_is_checked_once() -> None:
    """The same token is the same caller, without another look; another token of the same subject is looked at."""
    first, second = (ONE.sign(good_claims(ISSUER, lasts_s=lasts_s)) for lasts_s in (600, 601))
    async with authenticator(trusting(ONE)) as door:
        caller = await asks(door, first)
        assert await asks(door, first) is caller
        other = await asks(door, second)
        assert other is not caller
        assert other.principal == caller.principal


async def test_token_that_nobody_reads_makes_a_caller_whose_name_does_not_tell_it() -> None:
    """Whose state something is, is said in more places than a token may be; with another process the name is another."""
    names = []
    for _ in range(2):
        async with asyncio.TaskGroup() as tasks:
            door = Authenticator(tasks, _unreachable, Pace(), lambda: None)
            door.configure(None, forwards=True)
            first, again, other = [await asks(door, each) for each in ("token-of-alice", "token-of-alice", "another")]
        assert first.principal == again.principal != other.principal
        assert (first.token, "alice" in first.principal) == ("token-of-alice", False)
        names.append(first.principal)
    assert names[0] != names[1]


async def test_what_was_not_asked_for_the_longest_is_forgotten_first() -> None:
    """Memory is bounded, and who asks steadily is not pushed out."""
    tokens = [ONE.sign(good_claims(ISSUER, f"caller-{number}")) for number in range(3)]
    async with authenticator(trusting(ONE), Pace(remembered=2)) as door:
        steady, rare = await asks(door, tokens[0]), await asks(door, tokens[1])
        assert await asks(door, tokens[0]) is steady
        await asks(door, tokens[2])
        assert await asks(door, tokens[0]) is steady
        again = await asks(door, tokens[1])
        assert again is not rare
        assert again.principal == rare.principal


async def test_refusal_is_not_remembered() -> None:
    """A key that comes later opens for a token that was refused before."""
    token = TWO.sign(good_claims(ISSUER))
    async with authenticator(trusting(ONE)) as door:
        for _ in range(2):
            with pytest.raises(Denied):
                await asks(door, token)
        door.configure(trusting(ONE, TWO), forwards=False)
        assert (await asks(door, token)).claims["sub"] == "alice"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (lambda: trusting(TWO), "The token's key is not among those that its issuer has published"),
        (
            lambda: trusting(ONE, audiences=["https://other.example"]),
            "The token is meant for others, not for this gateway",
        ),
        (lambda: trusting(ONE, requiredScopes=["mcp"]), "The token lacks scope mcp"),
        (
            lambda: trusting(ONE, algorithms=["RS256"]),
            "The token is signed with an algorithm that is not accepted here",
        ),
        (
            lambda: trusting(ONE, issuer="https://another.example"),
            "The token is of an issuer that is not accepted here",
        ),
        (lambda: AppliedAuthentication((), (), ()), "The token is not one that is accepted here"),
    ],
    ids=["key", "audience", "scope", "algorithm", "issuer", "nobody"],
)
async def test_change_of_config_ends_what_was_remembered(
    changed: Callable[[], AppliedAuthentication], why: str
) -> None:
    """Whatever it is by which the token would be refused now, it is refused, and told why."""
    token = ONE.sign(good_claims(ISSUER))
    async with authenticator(trusting(ONE)) as door:
        await asks(door, token)
        door.configure(changed(), forwards=False)
        with pytest.raises(Denied) as refused:
            await asks(door, token)
        assert why in str(refused.value)


async def test_remembered_token_ends_with_its_time() -> None:
    """It is refused in the words for expired tokens."""
    token = ONE.sign(good_claims(ISSUER, lasts_s=1))
    async with authenticator(trusting(ONE, leewayMs=0)) as door:
        caller = await asks(door, token)
        with pytest.raises(Denied) as refused:  # noqa: PT012 - the last one of many
            while await asks(door, token) is caller:
                await asyncio.sleep(0.05)
        assert "The token has expired" in str(refused.value)
