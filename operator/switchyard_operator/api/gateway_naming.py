"""How exposed names are composed: prefix, separator, tool name; and what a prefix must keep to for names to stay unique.

A composed name is read by nobody (names are never parsed), but two must never be equal by accident. With a separator that is
one character repeated, ``P1 S T1 == P2 S T2`` for different prefixes needs a prefix that contains the separator or ends in
its character; so neither is allowed.
"""

from typing import Annotated, Literal

from pydantic import Field

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.scalars import Text

Prefix = Annotated[str, Text(r"[A-Za-z0-9_.-]*", 63, "letters, digits, '_', '-' and '.'")]
Separator = Annotated[str, Text(r"(_{1,4}|-{1,4})", 4, "one to four '_', or one to four '-'")]

SHORTENED_TOOL_LENGTH = 10
"""The least that remains of an over-long tool name: one character, ``_`` and eight of a hash."""


class Naming(ApiModel):
    """How exposed names are composed. Names depend on what is declared, never on which backends answer."""

    strategy: Literal["Auto", "Always", "Never"] = "Auto"
    """`Auto`: bare tool names when the gateway lists exactly one backend by name, else prefixed. `Always`: prefixed. `Never`:
    bare; where two backends have a tool of one name, the later one's gets a hash. A prefix given in `backends` is used in any
    case. Default `Auto`."""
    separator: Separator = "__"
    """What stands between prefix and tool name: 1 to 4 `_`, or 1 to 4 `-`. Default `__`."""
    max_length: Annotated[int, Field(strict=True, ge=24, le=128)] = 64
    """The longest composed name; a longer one is cut in the tool's part and gets a hash. Many model providers refuse more than
    64. A bare name is never cut. Default 64, from 24 to 128."""
    charset: Literal["Keep", "Safe"] = "Keep"
    """`Keep`: names as backends give them. `Safe`: other characters than letters, digits, `_` and `-` are replaced, in bare
    names too, for clients that refuse them. Default `Keep`."""

    @property
    def longest_prefix(self) -> int:
        """The most characters a prefix may have."""
        return self.max_length - len(self.separator) - SHORTENED_TOOL_LENGTH

    def prefix_fault(self, prefix: str) -> str | None:
        """Why this prefix, which is not empty, cannot be used here; or None."""
        if self.separator in prefix:
            return f'must not contain the separator "{self.separator}": composed names could then coincide'
        if prefix.endswith(self.separator[0]):
            return f'must not end in "{self.separator[0]}": the separator "{self.separator}" is added to it'
        if len(prefix) > self.longest_prefix:
            return f"has {len(prefix)} characters; at most {self.longest_prefix} fit with naming.maxLength {self.max_length}"
        if self.charset == "Safe" and "." in prefix:
            return "must not contain '.' with naming.charset Safe"
        return None
