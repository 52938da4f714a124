"""Whether the watches bring what there is to see."""

from collections.abc import Callable
from typing import Any

import pytest

from switchyard_operator.controller.resources import BACKENDS, GATEWAYS, Stream
from switchyard_operator.controller.vigilance import (
    ASK_LIMIT_S,
    BEAT_LIMIT_S,
    DEBT_LIMIT_S,
    FORBIDDEN_LIMIT_S,
    START_LIMIT_S,
    Vigilance,
)

BACKENDS_STREAM = Stream(BACKENDS, None)
GATEWAYS_STREAM = Stream(GATEWAYS, "agents")


def at(version: str) -> dict[str, Any]:
    """An object of this version."""
    return {"metadata": {"name": "a", "resourceVersion": version}}


@pytest.fixture
def vigilance() -> Vigilance:
    """Over two watches that have listed at second 0, with a thread that beats whenever it is asked."""
    vigilance = Vigilance.over([BACKENDS_STREAM, GATEWAYS_STREAM], 0)
    vigilance.listing(BACKENDS_STREAM)
    vigilance.listing(GATEWAYS_STREAM)
    return vigilance


def faults(vigilance: Vigilance, now: float) -> list[str]:
    """What is wrong at this time, with a thread that is alive, and watches that ask."""
    vigilance.beat(now)
    vigilance.asked(BACKENDS_STREAM, now)
    vigilance.asked(GATEWAYS_STREAM, now)
    return list(vigilance.faults(now))


def test_a_quiet_cluster_is_well(vigilance: Vigilance) -> None:
    """Nothing happens for hours: nothing is owed."""
    vigilance.found(BACKENDS_STREAM, [], 10)
    assert faults(vigilance, 100_000) == []


@pytest.mark.parametrize(
    "payment",
    [
        lambda vigilance: vigilance.brought(BACKENDS_STREAM, at("7")),
        lambda vigilance: vigilance.brought(BACKENDS_STREAM, at("9")),
    ],
    ids=["the object itself", "something later"],
)
def test_what_a_list_found_is_owed_until_the_watch_brings_it(
    vigilance: Vigilance, payment: Callable[[Vigilance], None]
) -> None:
    """A version that the watch has not reached becomes a fault in time, and none once it is reached or overtaken."""
    vigilance.brought(BACKENDS_STREAM, at("5"))
    vigilance.found(BACKENDS_STREAM, [at("3"), at("7")], 10)
    assert faults(vigilance, 10 + DEBT_LIMIT_S) == []
    assert faults(vigilance, 11 + DEBT_LIMIT_S) == [
        "the watch of mcpbackends.switchyard.dev has brought nothing for 151 s of what there is"
    ]
    payment(vigilance)
    assert faults(vigilance, 11 + DEBT_LIMIT_S) == []


def test_an_older_event_pays_nothing(vigilance: Vigilance) -> None:
    """A watch that brings something, but not as far as the list saw, is still behind."""
    vigilance.found(BACKENDS_STREAM, [at("7")], 10)
    vigilance.brought(BACKENDS_STREAM, at("6"))
    assert len(faults(vigilance, 11 + DEBT_LIMIT_S)) == 1


def test_only_what_is_newer_than_its_beginning_is_owed_by_a_watch(vigilance: Vigilance) -> None:
    """A watch brings what happens after the version that it begins with; a list finds what was before it too."""
    vigilance.stands(BACKENDS_STREAM, "7")
    vigilance.found(BACKENDS_STREAM, [at("3"), at("7")], 10)
    assert faults(vigilance, 100_000) == []
    vigilance.found(BACKENDS_STREAM, [at("8")], 100_000)
    vigilance.stands(BACKENDS_STREAM, "7")
    assert len(faults(vigilance, 100_001 + DEBT_LIMIT_S)) == 1


def test_newer_lists_do_not_prolong_a_debt(vigilance: Vigilance) -> None:
    """Objects that go on changing must not hide a watch that has hung since the first list."""
    vigilance.found(BACKENDS_STREAM, [at("7")], 10)
    vigilance.found(BACKENDS_STREAM, [at("8")], DEBT_LIMIT_S)
    assert len(faults(vigilance, 11 + DEBT_LIMIT_S)) == 1


def test_a_new_debt_has_its_own_time(vigilance: Vigilance) -> None:
    """Once paid, an old debt does not count against the next."""
    vigilance.found(BACKENDS_STREAM, [at("7")], 10)
    vigilance.brought(BACKENDS_STREAM, at("7"))
    vigilance.found(BACKENDS_STREAM, [at("8")], DEBT_LIMIT_S)
    assert faults(vigilance, 11 + DEBT_LIMIT_S) == []


def test_watches_answer_for_themselves(vigilance: Vigilance) -> None:
    """What one watch brings does not pay for another."""
    vigilance.found(GATEWAYS_STREAM, [at("7")], 10)
    vigilance.brought(BACKENDS_STREAM, at("9"))
    assert faults(vigilance, 11 + DEBT_LIMIT_S) == [
        "the watch of mcpgateways.switchyard.dev in agents has brought nothing for 151 s of what there is"
    ]


def test_versions_that_are_no_numbers_prove_nothing(vigilance: Vigilance) -> None:
    """An API server that counts otherwise is not held against the watch."""
    vigilance.found(BACKENDS_STREAM, [at("x7")], 10)
    assert faults(vigilance, 100_000) == []


@pytest.mark.parametrize(
    ("versions", "fault"),
    [
        (["5", "5", "7"], []),
        (["5", "opaque", "6"], []),
        (["7", "5"], ["the API server's data of mcpbackends.switchyard.dev are older than they were"]),
        (["7", "5", "9"], ["the API server's data of mcpbackends.switchyard.dev are older than they were"]),
    ],
    ids=["newer", "unknown", "older", "older and then newer"],
)
def test_data_that_were_restored_are_a_fault_for_good(
    vigilance: Vigilance, versions: list[str], fault: list[str]
) -> None:
    """What is held here is newer than what will be heard of, so that only a new process believes it."""
    for version in versions:
        vigilance.ended(BACKENDS_STREAM, version)
    vigilance.ended(GATEWAYS_STREAM, "1")
    assert faults(vigilance, 10) == fault


def test_a_watch_that_never_begins_is_a_fault() -> None:
    """What discovery did not show it, kopf does not watch and says so in a log line alone."""
    vigilance = Vigilance.over([BACKENDS_STREAM, GATEWAYS_STREAM], 0)
    vigilance.listing(GATEWAYS_STREAM)
    assert faults(vigilance, START_LIMIT_S) == []
    assert faults(vigilance, START_LIMIT_S + 1) == ["the watch of mcpbackends.switchyard.dev has not begun"]
    vigilance.listing(BACKENDS_STREAM)
    assert faults(vigilance, START_LIMIT_S + 1) == []


def test_a_thread_without_a_sign_of_life_is_a_fault(vigilance: Vigilance) -> None:
    """The loop of kopf has stopped: nothing it holds can be trusted to come."""
    vigilance.beat(100)
    assert list(vigilance.faults(100 + BEAT_LIMIT_S)) == []
    assert list(vigilance.faults(101 + BEAT_LIMIT_S)) == ["the thread of watches has given no sign of life for 61 s"]


def test_a_watch_that_asks_no_more_is_a_fault_whatever_else_goes_on(vigilance: Vigilance) -> None:
    """One of kopf's tasks has ended and nobody was told: its thread is alive, and the other watch asks."""
    vigilance.asked(BACKENDS_STREAM, 100)
    vigilance.asked(GATEWAYS_STREAM, 300)
    vigilance.beat(600)
    assert list(vigilance.faults(100 + ASK_LIMIT_S)) == []
    assert list(vigilance.faults(101 + ASK_LIMIT_S)) == [
        "the watch of mcpbackends.switchyard.dev has asked for nothing for 481 s"
    ]


@pytest.mark.parametrize(
    "admission",
    [
        lambda vigilance: vigilance.stands(BACKENDS_STREAM, "7"),
        lambda vigilance: vigilance.listing(BACKENDS_STREAM),
    ],
    ids=["it stands", "it lists"],
)
def test_a_watch_that_is_forbidden_for_long_is_a_fault_until_it_is_let_in(
    vigilance: Vigilance, admission: Callable[[Vigilance], None]
) -> None:
    """Counted from the first refusal; each that follows does not begin it anew."""
    vigilance.forbidden(BACKENDS_STREAM, 10)
    vigilance.forbidden(BACKENDS_STREAM, 200)
    assert faults(vigilance, 10 + FORBIDDEN_LIMIT_S) == []
    assert faults(vigilance, 11 + FORBIDDEN_LIMIT_S) == [
        "the watch of mcpbackends.switchyard.dev has been forbidden for 301 s"
    ]
    admission(vigilance)
    assert faults(vigilance, 11 + FORBIDDEN_LIMIT_S) == []
    vigilance.forbidden(BACKENDS_STREAM, 400)
    assert faults(vigilance, 401) == []
