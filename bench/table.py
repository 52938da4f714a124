"""One table a scenario: for people on stdout, for programs in JSON."""

from dataclasses import dataclass, field
from typing import Any


@dataclass
class Table:
    """Rows of named cells, all with the same names in the same order."""

    title: str
    rows: list[dict[str, Any]] = field(default_factory=list)
    rounds: list[Any] = field(default_factory=list)
    """What the rows are medians of."""

    def add(self, **cells: Any) -> None:
        """Add a row."""
        self.rows.append(cells)

    def __str__(self) -> str:
        head = [name.replace("_", " ") for name in self.rows[0]]
        lines = [head, *([_text(cell) for cell in row.values()] for row in self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        numeric = [isinstance(cell, int | float) for cell in self.rows[0].values()]
        text = [
            "  ".join(
                cell.rjust(width) if right else cell.ljust(width)
                for cell, width, right in zip(line, widths, numeric, strict=True)
            ).rstrip()
            for line in lines
        ]
        return "\n".join((self.title, "", *(f"  {line}" for line in text)))


def _text(cell: Any) -> str:
    if isinstance(cell, float):
        return f"{cell:,.0f}" if cell >= 1000 else f"{cell:.1f}" if cell >= 20 else f"{cell:.2f}"
    return f"{cell:,}" if isinstance(cell, int) else str(cell)
