"""The one way in which a command refuses its input."""

from collections.abc import Iterable


class UnusableInput(Exception):  # noqa: N818 - the name says it
    """The input cannot be used: one line for each thing to correct. Ends a command with exit code 2."""

    def __init__(self, lines: Iterable[str]) -> None:
        self.lines = tuple(lines)
        super().__init__("\n".join(self.lines))
