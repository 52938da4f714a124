"""Which tools a gateway lists."""

import pytest

from switchyard_sidecar.catalog.filters import passes
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
