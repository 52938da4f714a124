"""What one walk makes of what was known."""

from switchyard_sidecar.catalog.definition import Rejection
from switchyard_sidecar.catalog.snapshot import Snapshot
from unit.catalog.samples import accepted, snapshot_of, tool


def names(snapshot: Snapshot) -> list[str]:
    """The tools' names, in order."""
    return [each.name for each in snapshot.tools]


def test_of_two_tools_of_one_name_the_first_is_listed_and_the_other_reported() -> None:
    """Even an exact repetition is reported."""
    first, second = tool("t", title="first"), tool("t", title="second")
    snapshot = snapshot_of("b", first, second, first, "u")
    assert snapshot.tools == (first, tool("u"))
    assert [rejection.tool for rejection in snapshot.rejected] == ["t", "t"]


def test_rejections_of_the_walk_are_kept() -> None:
    """What was refused on the way is reported with the list."""
    assert snapshot_of("b", rejected=[Rejection("#3", "it has no name")]).rejected == (
        Rejection("#3", "it has no name"),
    )


def test_a_complete_walk_removes_what_it_did_not_meet() -> None:
    """The whole list was read, so what is not in it is gone."""
    assert names(snapshot_of("b", "t", previous=snapshot_of("b", "t", "u"))) == ["t"]


def test_an_incomplete_walk_changes_and_adds_but_never_removes() -> None:
    """What was not met may stand on a page that was not read."""
    before = snapshot_of("b", "t", tool("u", title="old"), "v")
    after = snapshot_of("b", tool("u", title="new"), "w", complete=False, previous=before)
    assert after.tools == (tool("t"), tool("u", title="new"), tool("v"), tool("w"))
    assert not after.complete


def test_the_first_walk_may_be_incomplete() -> None:
    """Some of the list is better than nothing of it."""
    assert names(snapshot_of("b", "t", complete=False)) == ["t"]


def test_the_union_stays_within_the_limit_of_tools() -> None:
    """There is room first for what was listed before; what is over is reported."""
    before = snapshot_of("b", "t", "u")
    after = snapshot_of("b", "v", "w", complete=False, max_tools=3, previous=before)
    assert names(after) == ["t", "u", "v"]
    assert after.rejected == (Rejection("w", "there are more than the 3 tools allowed"),)


def test_the_digest_is_the_same_in_any_order() -> None:
    """A backend that shuffles its list has not changed it."""
    assert snapshot_of("b", "t", "u").digest == snapshot_of("b", "u", "t").digest


def test_the_digest_sees_every_change() -> None:
    """A tool more, less or different is another list."""
    digests = {snapshot_of("b", *each).digest for each in ([], ["t"], ["t", "u"], [tool("t", title="x"), "u"])}
    assert len(digests) == 4


def test_a_canonically_equal_list_keeps_the_old_bytes() -> None:
    """A backend that only writes the same in another way has changed nothing, and nobody's bytes change."""
    before = snapshot_of("b", accepted(b'{"name":"t","inputSchema":{}}'), "u")
    after = snapshot_of("b", "u", accepted(b'{ "inputSchema":{}, "n\\u0061me":"t" }'), previous=before)
    assert after.tools is before.tools


def test_an_unchanged_tool_in_a_changed_list_keeps_its_old_bytes() -> None:
    """Only what is different is new."""
    before = snapshot_of("b", accepted(b'{"name":"t","inputSchema":{}}'), "u")
    after = snapshot_of("b", accepted(b'{ "name":"t","inputSchema":{} }'), "v", previous=before)
    assert after.tools[0] is before.tools[0]
    assert names(after) == ["t", "v"]
