"""What is wrong with a file, and where."""

from dataclasses import dataclass
from typing import NamedTuple

from switchyard_operator.api.fields import FieldPath, dotted


class Place(NamedTuple):
    """A place in a file, as editors count: from 1. Line 0: the file as a whole."""

    file: str
    line: int = 0
    column: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}" if self.line else self.file


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake. ``str()`` is the line that users see: it is one line, moves no terminal, and contains no secret."""

    place: Place
    message: str
    """What is wrong and what to do."""
    object: str = ""
    """The object it is in, as far as it is known by name."""
    field: FieldPath = ()
    value: str = ""
    """What stands there, shortened; empty where showing it would not help or not be safe."""

    def __str__(self) -> str:
        said = f"{self.value}: {self.message}" if self.value else self.message
        return one_line(": ".join(filter(None, (str(self.place), self.object, dotted(self.field), said))))


def one_line(text: str) -> str:
    """A text with whatever is no visible character escaped: it begins no line, moves no terminal, and gives CI no command."""
    return text if text.isprintable() else "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)
