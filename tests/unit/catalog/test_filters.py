"""Which tools a gateway lists, and which a caller sees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from switchyard_sidecar.catalog.filters import may_pass, passes, passes_all
from switchyard_sidecar.config.model import ToolFilter


def of(include: tuple[str, ...] = ("*",), exclude: tuple[str, ...] = ()) -> ToolFilter:
    """A filter."""
    return ToolFilter(include=include, exclude=exclude)


@pytest.mark.parametrize(
    ("filters", "tool", "listed"),
    [
        ((), "search", True),
        ((of(),), "search", True),
        ((of(include=("get_*", "se?rch")),), "search", True),
        ((of(include=("get_*",)),), "search", False),
        ((of(include=()),), "search", False),
        ((of(exclude=("s*",)),), "search", False),
        ((of(include=("search",), exclude=("search",)),), "search", False),
        ((of(include=("SEARCH",)),), "search", False),
        ((of(include=("[gs]*",)),), "search", True),
        ((of(include=("admin.*",)),), "admin.tools.list", True),
        ((of(include=("admin.*",)),), "adminXtools", False),
        ((of(exclude=("delete_*",)), of(include=("*_repo",))), "delete_repo", False),
        ((of(exclude=("delete_*",)), of(include=("*_repo",))), "get_repo", True),
        ((of(exclude=("delete_*",)), of(include=("*_repo",))), "get_user", False),
    ],
)
def test_every_filter_must_let_a_tool_pass(filters: tuple[ToolFilter, ...], tool: str, listed: bool) -> None:
    """Included by any glob and excluded by none, case and all, of the backend's filter and then of the gateway's."""
    assert passes(filters, tool) is listed


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (of(), True),
        (of(include=("a", "*")), True),
        (of(include=("a*",)), False),
        (of(include=()), False),
        (of(exclude=("nobody",)), False),
    ],
)
def test_everything_passes_only_where_the_globs_say_so(tools: ToolFilter, expected: bool) -> None:
    """Whether an exclusion happens to exclude nothing is not looked at."""
    assert passes_all(tools) is expected


@pytest.mark.parametrize(
    ("tools", "expected"),
    [
        (of(), True),
        (of(include=()), False),
        (of(include=("gh__*",)), True),
        (of(include=("gh__search",)), True),
        (of(include=("g*",)), True),
        (of(include=("gh",)), False),
        (of(include=("?h__search",)), True),
        (of(include=("jr__*", "find")), False),
        (of(exclude=("gh__*",)), False),
        (of(exclude=("g*",)), False),
        (of(exclude=("*",)), False),
        (of(exclude=("gh__delete_*", "jr__*")), True),
        (of(exclude=("gh__?*",)), True),
        (of(include=("gh__*",), exclude=("gh__*",)), False),
    ],
)
def test_backend_has_room_unless_its_names_cannot_pass(tools: ToolFilter, expected: bool) -> None:
    """Names that begin with ``gh__``: what the beginnings of the globs do not decide counts as possible."""
    assert may_pass(tools, "gh__") is expected


GLOBS = st.lists(st.text("ab_*?[]!", max_size=4), max_size=3).map(tuple)


@given(st.builds(of, GLOBS, GLOBS), st.text("ab_", max_size=3), st.text("ab_[", max_size=3))
def test_no_name_passes_where_none_can(tools: ToolFilter, lead: str, rest: str) -> None:
    """The quick look never says no where a name does pass; and where everything passes, every name does."""
    if passes((tools,), lead + rest):
        assert may_pass(tools, lead)
    else:
        assert not passes_all(tools)
