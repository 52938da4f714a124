"""Which certificates there are to be. Time goes by as the tests say."""

import ssl
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.x509.verification import PolicyBuilder, Store, VerificationError
from hypothesis import given, settings
from hypothesis import strategies as st

from switchyard_operator.controller.certificates.holdings import Holdings, Lifetimes, advanced, certificates_in

T0 = datetime(2026, 7, 28, 12, 0, 0, tzinfo=UTC)
DAY = timedelta(days=1)
NAME = "switchyard-webhook.switchyard-system.svc"
NAMES = frozenset({NAME})
LIFETIMES = Lifetimes()


def made(now: datetime = T0, trusted: tuple[x509.Certificate, ...] = ()) -> Holdings:
    """The holdings of one who has none."""
    return advanced(None, trusted, NAMES, now, LIFETIMES, settled=False)


def later(held: Holdings, days: float, *, settled: bool = True, names: frozenset[str] = NAMES) -> Holdings:
    """The holdings so many days after T0."""
    return advanced(held, (), names, T0 + days * DAY, LIFETIMES, settled=settled)


def verify(shown: Holdings, trusted: Holdings, now: datetime, name: str = NAME) -> None:
    """As an API server that trusts these, and is shown those; raises when it would not go on."""
    policy = PolicyBuilder().store(Store([*trusted.authorities])).time(now)
    policy.build_server_verifier(x509.DNSName(name)).verify(shown.certificate, [])


def test_the_first_certificates_are_good_for_years_and_for_months() -> None:
    """An API server can use them at once; they are of one key each."""
    held = made()
    (authority,) = held.authorities
    assert authority.not_valid_after_utc == T0 + 1095 * DAY
    assert held.certificate.not_valid_after_utc == T0 + 90 * DAY
    assert held.certificate.not_valid_before_utc == T0 - timedelta(minutes=5), "clocks may be behind"
    verify(held, held, T0)
    with pytest.raises(VerificationError):
        verify(held, held, T0, name="other.switchyard-system.svc")


def test_an_address_is_a_name_too() -> None:
    """For configurations with a URL."""
    held = advanced(None, (), frozenset({"127.0.0.1", "a.example"}), T0, LIFETIMES, settled=False)
    names = held.certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert [*map(str, names.get_values_for_type(x509.IPAddress)), *names.get_values_for_type(x509.DNSName)] == [
        "127.0.0.1",
        "a.example",
    ]


def test_files_hold_everything() -> None:
    """What is written and read is the same; the key is not among the authorities."""
    held = made()
    assert sorted(held.files()) == ["ca.crt", "ca.key", "tls.crt", "tls.key"]
    read = Holdings.of(held.files())
    assert read is not None
    assert read.files() == held.files()
    assert b"PRIVATE" not in held.bundle
    assert "PRIVATE" not in repr(held)


def test_openssl_reads_the_files() -> None:
    """The webhook does not use the same library."""
    assert ssl.PEM_cert_to_DER_cert(made().bundle.decode())


@pytest.mark.parametrize("name", ["ca.crt", "ca.key", "tls.crt", "tls.key"])
@pytest.mark.parametrize("content", [None, b"", b"nonsense", b"of another"])
def test_files_that_do_not_belong_together_are_worth_nothing(name: str, content: bytes | None) -> None:
    """One that is missing, broken, or of other holdings."""
    files = made().files()
    del files[name]
    if content is not None:
        files[name] = made().files()[name] if content == b"of another" else content
    assert Holdings.of(files) is None


def test_nothing_is_done_while_nothing_is_due() -> None:
    """The very same object, so that nothing is written."""
    held = made()
    assert later(held, 0) is held
    assert later(held, 59) is held


def test_a_certificate_is_renewed_in_its_last_third() -> None:
    """By the same authority; who has trusted it goes on to."""
    held = made()
    renewed = later(held, 60.1)
    assert renewed.authorities == held.authorities
    assert renewed.certificate.not_valid_after_utc == T0 + 150.1 * DAY
    verify(renewed, held, T0 + 60.1 * DAY)
    assert renewed.key.private_numbers() != held.key.private_numbers()


def test_a_new_authority_is_trusted_before_it_signs() -> None:
    """First the bundle has both; only when that is known everywhere comes the certificate; and the old one is trusted until its end."""
    held, day = made(), 731
    for each in range(60, 720, 60):
        held = later(held, each + 0.1)
    both = later(held, day)
    assert (len(both.authorities), both.certificate) == (2, held.certificate)
    assert both.authorities[1:] == held.authorities
    assert later(both, day, settled=False) is both, "nobody can be sure that it is trusted"

    signed = later(both, day)
    assert signed.authorities == both.authorities
    verify(signed, both, T0 + day * DAY)
    verify(held, signed, T0 + day * DAY)  # a replica that has not read its files yet
    with pytest.raises(VerificationError):
        verify(signed, held, T0 + day * DAY)

    assert len(later(replace(signed), 1094).authorities) >= 2
    assert signed.authorities[1] not in later(signed, 1095).authorities


def test_other_names_need_another_certificate() -> None:
    """The webhook's Service has another name."""
    renamed = later(made(), 1, names=frozenset({"new.switchyard-system.svc"}))
    verify(renamed, renamed, T0 + DAY, name="new.switchyard-system.svc")


@pytest.mark.parametrize("day", [90, 1095, 2000])
def test_whoever_was_away_for_long_does_not_wait(day: int) -> None:
    """What is over is of no use to anybody: there is a new one at once."""
    fresh = later(made(), day, settled=False)
    while (next_one := later(fresh, day, settled=False)) is not fresh:
        fresh = next_one
    verify(fresh, fresh, T0 + day * DAY)


def test_a_lost_secret_costs_nobody_his_trust() -> None:
    """Replicas show the old certificate until they have read the new one."""
    old = made()
    new = made(T0 + DAY, old.authorities)
    assert new.authorities[1:] == old.authorities
    verify(old, new, T0 + DAY)
    verify(new, new, T0 + DAY)


def test_what_is_over_is_not_trusted_again() -> None:
    """Nor are there ever many."""
    old = made()
    assert len(made(T0 + 1095 * DAY, old.authorities).authorities) == 1
    many = tuple(authority for _ in range(10) for authority in made().authorities)
    assert len(made(T0 + DAY, many).authorities) == 4


def test_a_bundle_that_cannot_be_read_holds_nothing() -> None:
    """Somebody has written something else there."""
    assert certificates_in(b"") == ()
    assert certificates_in(b"nonsense") == ()
    assert len(certificates_in(made().bundle)) == 1


class World:
    """An API server and a replica of the webhook, each of which hears of changes when it likes."""

    def __init__(self) -> None:
        self.now = T0
        self.held = advanced(None, (), NAMES, self.now, SHORT, settled=False)
        self.trusted = self.held
        self.shown = self.held
        self.settled_since = self.now

    def pass_time(self, minutes: int) -> None:
        self.now += timedelta(minutes=minutes)

    def operator_looks(self) -> None:
        settled = self.trusted.bundle == self.held.bundle and self.now - self.settled_since >= timedelta(minutes=10)
        self.held = advanced(self.held, self.trusted.authorities, NAMES, self.now, SHORT, settled=settled)

    def api_server_hears(self) -> None:
        if self.trusted.bundle != self.held.bundle:
            self.settled_since = self.now
        self.trusted = self.held

    def webhook_reads(self) -> None:
        self.shown = self.held

    def secret_is_deleted(self) -> None:
        self.held = advanced(None, self.trusted.authorities, NAMES, self.now, SHORT, settled=False)
        self.api_server_hears()  # within the same look


SHORT = Lifetimes(authority=timedelta(hours=60), certificate=timedelta(hours=12))
STEPS = ["operator_looks", "api_server_hears", "webhook_reads"]


ROUNDS = st.tuples(st.integers(1, 60), st.permutations(STEPS), st.sampled_from([True, *[False] * 20]))


@settings(max_examples=50, deadline=None)  # keys are made in each, on whatever machine
@given(st.lists(ROUNDS, min_size=50, max_size=200))
def test_no_moment_of_any_history_is_without_trust(
    history: list[tuple[int, list[str], bool]],
) -> None:
    """Whoever hears of changes first: within an hour each, over many renewals of both kinds, and lost Secrets."""
    world = World()
    for minutes, steps, loss in history:
        world.pass_time(minutes)
        for step in (*steps, "secret_is_deleted") if loss else steps:
            getattr(world, step)()
            verify(world.shown, world.trusted, world.now)
