"""What the log says of catalogs: each thing once, whosever catalog shows it."""

import pytest
from structlog.testing import capture_logs

from switchyard_sidecar.catalog.catalog import Catalog, build
from switchyard_sidecar.config.model import Auth, AuthType, GatewayConfig, Pin, Pinning
from switchyard_sidecar.findings import MAX_KEPT, Findings
from unit.catalog.samples import gateway, tool, views

BARE = gateway({"gh": "gh"})
PINS = Pinning(mode="Warn", digests=(Pin(tool="a", sha256=tool("a").digest.hex()),))
PINNED = BARE.model_copy(update={"backends": (BARE.backends[0].model_copy(update={"pinning": PINS}),)})
NOTHING, AGREED, NEW = build(PINNED, {}), build(PINNED, views(gh=["a"])), build(PINNED, views(gh=["a", "b"]))
MANY = build(PINNED, views(gh=["a", *(f"x{number:02}" for number in range(30))]))


def said(*steps: tuple[Catalog, Catalog]) -> list[str]:
    """The events of these changes, and what they name."""
    findings = Findings()
    with capture_logs() as logged:
        for before, after in steps:
            findings.say(before, after)
    return [f"{each['event']} {each.get('unpinned') or each.get('names') or each.get('tools')}" for each in logged]


@pytest.mark.parametrize(
    ("steps", "events"),
    [
        pytest.param([(NOTHING, AGREED), (AGREED, AGREED)], ["pins_agree 1"], id="agreed"),
        pytest.param([(AGREED, NEW), (NEW, NEW)], ["pins_differ ['b']"], id="a new tool"),
        pytest.param([(AGREED, NEW), (NEW, AGREED)], ["pins_differ ['b']", "pins_agree 1"], id="and gone again"),
        pytest.param(
            [(NOTHING, NEW), (NOTHING, NEW)], ["pins_differ ['b']"], id="the same of another caller's catalog"
        ),
        pytest.param([(NEW, NOTHING), (NOTHING, NEW)], ["pins_differ ['b']"], id="after an outage"),
    ],
)
def test_what_differs_from_the_pins_is_said_once(steps: list[tuple[Catalog, Catalog]], events: list[str]) -> None:
    """And that it does no more."""
    assert said(*steps) == events


def test_of_many_names_the_first_are_said_and_all_are_counted() -> None:
    """A log line has an end."""
    with capture_logs() as logged:
        Findings().say(NOTHING, MANY)
    (line,) = logged
    assert (line["unpinned"], line["unpinned_total"]) == ([f"x{number:02}" for number in range(20)], 30)


def test_long_names_are_cut() -> None:
    """They are backends' words: a line is short, whatever these call their tools."""
    long = "x" * 5000 + "y"
    with capture_logs() as logged:
        Findings().say(NOTHING, build(PINNED, views(gh=["a", f"{long}\u200b", f"\u200b{long}"])))
    assert max(len(name) for line in logged for name in line.get("unpinned", line.get("names"))) == 128


def alike(*names: str, config: GatewayConfig = BARE) -> Catalog:
    return build(config, views(gh=names))


def test_names_that_look_alike_are_said_once_and_again_when_they_come_back() -> None:
    """Of another caller's catalog they are not said again."""
    none, both = alike("a"), alike("a", "A")
    line = "names_look_alike ('gh__A', 'gh__a')"
    assert said((none, both), (none, both), (both, both)) == [line]
    assert said((none, both), (both, none), (none, both)) == [line, line]


def test_what_one_caller_alone_is_shown_is_said_with_its_lane() -> None:
    """What a lane shows of backends that all share is nobody's in particular."""
    shared, own = gateway({"gh": "gh", "fw": "fw"}).backends
    forwarding = own.model_copy(update={"auth": Auth(type=AuthType.FORWARD)})
    config = BARE.model_copy(
        update={"backends": tuple(each.model_copy(update={"pinning": PINS}) for each in (shared, forwarding))}
    )
    after = build(config, views(gh=["a", "b", "B"], fw=["a", "c", "C"]))
    with capture_logs() as logged:
        Findings().say(build(config, {}), after, lane=7)
    assert [(each["event"], each.get("backend") or each.get("names"), each.get("lane")) for each in logged] == [
        ("pins_differ", "ns/gh", None),
        ("pins_differ", "ns/fw", 7),
        ("names_look_alike", ("fw__C", "fw__c"), 7),
        ("names_look_alike", ("gh__B", "gh__b"), None),
    ]


def test_what_is_remembered_has_an_end() -> None:
    """However many names come and go."""
    findings = Findings()
    with capture_logs():
        for number in range(MAX_KEPT + 10):
            findings.say(alike("x"), alike(f"a{number}", f"A{number}"))
    assert len(findings._alike) == MAX_KEPT
