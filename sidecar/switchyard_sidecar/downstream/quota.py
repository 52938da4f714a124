"""How much each caller has at once of what all share, so that one cannot take it from the others. Pure."""

from collections import Counter

from switchyard_sidecar.access.caller import ANONYMOUS
from switchyard_sidecar.protocol.errors import CallerOverloaded


class Quota:
    """Counts by principal. ``most``: what one of them may have; who is nobody in particular may have all there is."""

    def __init__(self, what: str, most: int) -> None:
        self.most = most
        self._what = what
        self._held: Counter[str] = Counter()

    def check(self, principal: str) -> None:
        """See whether a caller may have one more.

        Raises:
            CallerOverloaded: it has as many as one may have.
        """
        if principal != ANONYMOUS.principal and self._held[principal] >= self.most:
            raise CallerOverloaded(f"Too many {self._what} of one caller")

    def take(self, principal: str) -> None:
        """One more is this caller's, until :meth:`give_back`."""
        self._held[principal] += 1

    def give_back(self, principal: str) -> None:
        """See :meth:`take`."""
        self._held[principal] -= 1
        if not self._held[principal]:
            del self._held[principal]
