"""The model finds what is wrong with an answer, and nothing in what is right."""

import json

import pytest

from soak.facts import RECOVERY_S, SLACK_S, STARTUP_S, Alias, Config, Definition, History, Illness, Listing
from soak.model import Model

T = 1_000.0
"""When the answers of these tests are asked for; everything has been going on for long."""
BOUND_S = 5.0


def definition(revision: int) -> Definition:
    """A definition that tells its revision."""
    return Definition(b'{"name": ', b', "revision":%d}' % revision)


def model(*backends: str, aliases: tuple[Alias, ...] = ()) -> Model:
    """Well backends, each with the tools ``a`` and ``b``, for ever listed."""
    made = Model({name: History(name, BOUND_S) for name in backends})
    made.configured(Config(0.0, backends, aliases))
    made.loaded(1.0)
    for name in backends:
        made.version(name, 0.0, {"a": definition(0), "b": definition(0)})
        made.read(name, 1.0, 0)
    return made


def listed(*tools: str, at: float = T, **how: object) -> Listing:
    """An answer with these tools: ``x__a=3`` is the tool in its revision 3."""
    entries = []
    for each in tools:
        name, _, revision = each.partition("=")
        entries.append((name, definition(int(revision or 0)).named(name)))
    degraded = frozenset(str(how.get("degraded", "")).split())
    return Listing("modern", at, at + 0.1, tuple(entries), degraded, int(str(how.get("pages", 1))))


def test_a_definition_is_the_same_under_its_exposed_name() -> None:
    """Only the value of its name differs."""
    assert definition(3).named("ü__a") == '{"name": "ü__a", "revision":3}'.encode()
    assert json.loads(definition(3).named('a"b'))["name"] == 'a"b'


def test_what_is_right_is_found_right() -> None:
    """The tools of all backends, in order, byte for byte."""
    assert model("x", "y").faults(listed("x__a", "x__b", "y__a", "y__b")) == []


@pytest.mark.parametrize(
    ("tools", "fault"),
    [
        pytest.param("x__a x__b", "y must show version 0", id="a backend is lost"),
        pytest.param("x__a x__b y__a", "it lacks ['y__b']", id="a tool is lost"),
        pytest.param("x__a x__b y__a y__b z__a", "z__a belongs to no backend", id="a tool of nobody"),
        pytest.param("x__a x__b y__a y__b y__c", "it has ['y__c'] besides", id="a tool too many"),
        pytest.param("x__a x__a x__b y__a y__b", "out of order or doubled", id="a tool twice"),
        pytest.param("y__a y__b x__a x__b", "out of order or doubled", id="another order"),
        pytest.param("x__a=1 x__b y__a y__b", "['x__a'] differ", id="another definition"),
    ],
)
def test_what_is_wrong_is_said(tools: str, fault: str) -> None:
    """Each way in which a list can be wrong."""
    (found,) = model("x", "y").faults(listed(*tools.split()))
    assert fault in found


def changed(announced: bool, *, at: float) -> Model:
    """A backend whose tool ``a`` has a revision 1 since a time."""
    made = model("x")
    made.version("x", at, {"a": definition(1), "b": definition(0)})
    if announced:
        made.backends["x"].announced[1] = at
    return made


@pytest.mark.parametrize(
    ("announced", "ago_s", "old_is_right"),
    [(False, BOUND_S - 0.5, True), (False, BOUND_S + 0.5, False), (True, 1.0, True), (True, SLACK_S + 0.5, False)],
)
def test_a_change_is_seen_within_its_bound(announced: bool, ago_s: float, old_is_right: bool) -> None:
    """Until then the former list is right too, and the new one is at any time."""
    assert (changed(announced, at=T - ago_s).faults(listed("x__a=0", "x__b")) == []) == old_is_right
    assert changed(announced, at=T - ago_s).faults(listed("x__a=1", "x__b")) == []


def test_who_asks_sees_nothing_older_than_the_list_may_be_believed() -> None:
    """However long it may take until those are told who only listen."""
    made = changed(announced=False, at=T - 3)
    made.backends["x"].asked_s = 2.0
    assert made.faults(listed("x__a=0", "x__b")) != []
    assert made.faults(listed("x__a=0", "x__b"), held=True) == []


def test_nothing_is_seen_before_it_is_there() -> None:
    """A version that begins after the answer is not in it."""
    assert changed(announced=False, at=T + 0.2).faults(listed("x__a=1", "x__b")) != []


def test_no_list_mixes_two_versions() -> None:
    """A backend is shown as it was at one moment."""
    made = model("x")
    made.version("x", T - 1, {"a": definition(1), "b": definition(1)})
    assert made.faults(listed("x__a=1", "x__b=0")) != []


def test_a_client_never_sees_an_older_list_again() -> None:
    """Not even while both would be recent enough."""
    made = changed(announced=False, at=T - 1)
    assert made.faults(listed("x__a=1", "x__b")) == []
    assert made.faults(listed("x__a=0", "x__b", at=T + 0.05)) == []  # asked for before the other was answered
    assert made.faults(listed("x__a=0", "x__b", at=T + 0.5)) != []


def test_what_was_read_is_kept_while_the_backend_is_away() -> None:
    """The last good list: the version that was read, and not a former one, nor nothing."""
    made = changed(announced=False, at=T - 20)
    made.read("x", T - 18, 1)
    made.backends["x"].illnesses.append(Illness(T - 10, "die"))
    made.version("x", T - 5, {"a": definition(2)})
    assert made.faults(listed("x__a=1", "x__b", degraded="x")) == []
    assert made.faults(listed("x__a=0", "x__b", degraded="x")) != []
    assert made.faults(listed(degraded="x")) != []


def test_a_recovered_backend_has_time_until_it_is_asked_again() -> None:
    """And then shows what it has."""
    made = changed(announced=False, at=T - RECOVERY_S - 50)
    made.backends["x"].illnesses.append(Illness(T - RECOVERY_S - 60, "die", ended_at=T - RECOVERY_S + 5))
    assert made.faults(listed("x__a=0", "x__b")) == []
    assert made.faults(listed("x__a=0", "x__b", at=T + 10)) != []


def test_a_backend_that_has_never_answered_may_be_missing_if_the_answer_says_so() -> None:
    """Never an empty success in place of a failure."""
    made = model("x", "y")
    made.backends["new"] = History("new", BOUND_S)
    made.version("new", T - 50, {"a": definition(0)})
    made.configured(Config(T - 1, ("x", "y", "new")))
    made.loaded(T - 0.5)
    assert made.faults(listed("x__a", "x__b", "y__a", "y__b", degraded="new")) == []
    (found,) = made.faults(listed("x__a", "x__b", "y__a", "y__b", at=T + SLACK_S + 1))
    assert "does not say so" in found


def test_who_is_well_is_not_called_unwell() -> None:
    """A degraded note has a reason."""
    (found,) = model("x").faults(listed("x__a", "x__b", degraded="x"))
    assert "is well" in found


def test_a_tool_with_an_alias_has_that_name_alone_unless_it_keeps_its_own() -> None:
    """As the config says."""
    renamed = model("x", aliases=(Alias("find", "x", "a"),))
    assert renamed.faults(listed("find", "x__b")) == []
    assert renamed.faults(listed("find", "x__a", "x__b")) != []
    assert (
        model("x", aliases=(Alias("find", "x", "a", keep_original=True),)).faults(listed("find", "x__a", "x__b")) == []
    )


def test_either_config_explains_an_answer_while_one_replaces_the_other() -> None:
    """And never a mixture; afterwards the new one alone."""
    made = model("x", "y")
    made.configured(Config(T - 1, ("x",)))
    assert made.faults(listed("x__a", "x__b", "y__a", "y__b")) == []
    assert made.faults(listed("x__a", "x__b")) == []
    assert made.faults(listed("x__a", "x__b", "y__a")) != []
    made.loaded(T - 0.5)
    assert made.faults(listed("x__a", "x__b", "y__a", "y__b", at=T + SLACK_S + 1)) != []


def test_a_walk_over_pages_may_meet_a_change_but_loses_nothing() -> None:
    """What is in the list all the time is met; each entry is of some version."""
    made = model("x")
    made.version("x", T - 1, {"a": definition(0), "b": definition(1), "c": definition(1)})
    assert made.faults(listed("x__a", "x__b=0", "x__c=1", pages=2)) == []
    assert made.faults(listed("x__a", "x__b=0", pages=2)) == []
    assert made.faults(listed("x__b=0", pages=2)) == ["x__a was lost on the way"]
    assert made.faults(listed("x__a", "x__b=2", pages=2)) != []


def test_a_walk_over_pages_may_meet_two_configs() -> None:
    """Each entry is then as one of them has it."""
    made = model("x", "y")
    made.configured(Config(T - 0.1, ("x", "y"), (Alias("zzz", "x", "a"),)))
    assert made.faults(listed("x__a", "x__b", "y__a", "zzz", pages=2)) == []
    assert made.faults(listed("x__a", "x__b", "z__a", pages=2)) != []


def test_a_new_process_has_time_to_read_and_then_shows_everything() -> None:
    """After a restart nothing is known, and soon everything."""
    made = model("x")
    made.outages.append(Illness(T - 2, "kill", ended_at=T - 1))
    assert made.faults(listed(degraded="x")) == []
    assert made.faults(listed(at=T + STARTUP_S, degraded="x")) != []


def test_each_change_that_was_read_is_a_cause_to_be_told_once() -> None:
    """Reading the same again is none."""
    made = model("x")
    made.version("x", T, {"a": definition(1)})
    for at, number in ((T + 1, 0), (T + 2, 1), (T + 3, 1)):
        made.read("x", at, number)
    assert made.causes(T, T + 1.5) == 0
    assert made.causes(T, T + 2.5) == 1
    assert made.causes(T, T + 9) == 1
