"""Which changes a backend should have announced."""

import pytest

from switchyard_sidecar.upstream.vigil import Vigil

Read = tuple[int | None, int, int, bool]
"""Which stream was open when it began, how many announcements there were then, how many at its end, and if it brought a change."""


@pytest.mark.parametrize(
    ("reads", "last_is_silent"),
    [
        pytest.param([(1, 0, 0, False), (1, 0, 0, True)], True, id="a stream that said nothing"),
        pytest.param([(1, 0, 0, False), (1, 0, 0, False)], False, id="no change"),
        pytest.param([(1, 0, 0, False), (1, 1, 1, True)], False, id="announced"),
        pytest.param([(1, 0, 0, False), (1, 0, 1, True)], False, id="announced during the read"),
        pytest.param([(1, 0, 1, False), (1, 1, 1, True)], False, id="announced during the read before"),
        pytest.param([(None, 0, 0, True)], False, id="the first read"),
        pytest.param([(None, 0, 0, True), (1, 0, 0, True)], False, id="before the stream was open"),
        pytest.param([(1, 0, 0, True), (None, 0, 0, True)], False, id="the stream was lost"),
        pytest.param([(1, 0, 0, True), (2, 0, 0, True)], False, id="the stream was lost and opened again"),
        pytest.param([(1, 0, 0, False), (1, 1, 1, False), (1, 1, 1, True)], False, id="announced first, changed then"),
        pytest.param(
            [(1, 0, 0, False), (1, 1, 1, False), (1, 1, 1, False), (1, 1, 1, True)],
            True,
            id="announced for nothing, long ago",
        ),
        pytest.param([(1, 0, 0, False), (1, 1, 1, True), (1, 1, 1, True)], True, id="after one that was announced"),
    ],
)
def test_a_change_is_silent_only_where_its_announcement_would_have_been_heard(
    reads: list[Read], last_is_silent: bool
) -> None:
    """What may have been said while nobody could hear it, or is about to be said, is held against no backend."""
    vigil, silent = Vigil(), []
    for stream, heard_before, heard_after, changed in reads:
        vigil.began(stream, heard_before)
        silent.append(vigil.brought(heard_after, changed=changed))
    assert silent == [*[False] * (len(reads) - 1), last_is_silent]
