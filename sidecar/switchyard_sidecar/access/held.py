"""How much of something each caller has at once. Pure."""

from collections import Counter


class Held:
    """Counts by principal; one who has nothing is not kept."""

    def __init__(self) -> None:
        self._held: Counter[str] = Counter()

    def by(self, principal: str) -> int:
        """How many are this caller's."""
        return self._held[principal]

    def take(self, principal: str) -> None:
        """One more is this caller's, until :meth:`give_back`."""
        self._held[principal] += 1

    def give_back(self, principal: str) -> None:
        """See :meth:`take`."""
        self._held[principal] -= 1
        if not self._held[principal]:
            del self._held[principal]
