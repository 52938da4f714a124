"""Which of a backend's tools are listed."""

from typing import Annotated

from pydantic import Field

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import Glob


class ToolFilter(ApiModel):
    """Patterns on the backend's own tool names: a tool is kept when any of `include` and none of `exclude` matches.

    Case counts. Filtering hides a tool and refuses calls to it; it does not change the names of others.
    """

    include: Annotated[tuple[Glob, ...], Field(min_length=1, max_length=256)] = ("*",)
    """What to keep. Default `["*"]`: everything. 1 to 256 patterns, of at most 256 characters."""
    exclude: Annotated[tuple[Glob, ...], Field(max_length=256)] = ()
    """What to leave out of that. Default: nothing. At most 256 patterns, of at most 256 characters."""
