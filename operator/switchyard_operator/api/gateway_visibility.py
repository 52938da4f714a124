"""Which tools a gateway shows to whom. What is not shown is not listed, and unknown when it is called."""

from typing import Annotated, Literal

from pydantic import Field

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import Glob
from switchyard_operator.api.scalars import Text

Claim = Annotated[
    str,
    Text(
        r"(/([^~\x00-\x1f\x7f]|~[01])*|[^/\x00-\x1f\x7f][^\x00-\x1f\x7f]*)",
        256,
        "a claim's name such as groups, or a JSON pointer such as /kubernetes.io/namespace",
    ),
]
ClaimValue = Annotated[str, Text(r"[^\x00-\x1f\x7f]+", 256, "one line of text, not empty")]


class ClaimCondition(ApiModel):
    """One condition on a claim of the caller's token. A claim that is absent meets none, `noneOf` included.

    A claim has the values of its list, `scope` those between its blanks, any other claim one value; numbers and booleans are compared as
    they are written in JSON.
    """

    claim: Claim
    """The claim's name; where it begins with `/`, a JSON pointer into all claims (RFC 6901). At most 256 characters."""
    any_of: Annotated[tuple[ClaimValue, ...], Field(max_length=64)] = ()
    """The claim must have one of these values. Default: any value. At most 64, of at most 256 characters."""
    none_of: Annotated[tuple[ClaimValue, ...], Field(max_length=64)] = ()
    """The claim must be there and have none of these values. Default: none is excluded. At most 64, of at most 256 characters."""


class VisibleTools(ApiModel):
    """Patterns on exposed names, prefix included, and aliases: a tool is shown when any of `include` and none of `exclude` matches."""

    include: Annotated[tuple[Glob, ...], Field(min_length=1, max_length=256)] = ("*",)
    """What to show. Default `["*"]`: everything. 1 to 256 patterns, of at most 256 characters."""
    exclude: Annotated[tuple[Glob, ...], Field(max_length=256)] = ()
    """What not to show of that. Default: nothing. At most 256 patterns, of at most 256 characters."""


class VisibilityRule(ApiModel):
    """For callers for whom all conditions hold: the tools they see."""

    when: Annotated[tuple[ClaimCondition, ...], Field(max_length=16)] = ()
    """Conditions on the caller's claims, all of which must hold. Default: none, so that the rule is for everyone. At most 16."""
    tools: VisibleTools
    """What these callers see, and nothing else; `{}` is everything."""


class Visibility(ApiModel):
    """Which tools are shown to whom: the first rule that holds for a caller decides, and no other."""

    default: Literal["Allow", "Deny"]
    """What callers see for whom no rule holds. `Allow`: all tools. `Deny`: none. Must be said."""
    rules_: Annotated[tuple[VisibilityRule, ...], Field(max_length=128, alias="rules")] = ()
    """The rules, in order. Default: none. At most 128."""
