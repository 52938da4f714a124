"""How much each caller has at once of what all share, so that one cannot take it from the others. Pure."""

from switchyard_sidecar.access.caller import ANONYMOUS
from switchyard_sidecar.access.held import Held
from switchyard_sidecar.protocol.errors import CallerOverloaded


class Quota(Held):
    """Counts by principal. ``most``: what one of them may have; who is nobody in particular may have all there is."""

    def __init__(self, what: str, most: int) -> None:
        super().__init__()
        self.most = most
        self._what = what

    def check(self, principal: str) -> None:
        """See whether a caller may have one more.

        Raises:
            CallerOverloaded: it has as many as one may have.
        """
        if principal != ANONYMOUS.principal and self.by(principal) >= self.most:
            raise CallerOverloaded(f"Too many {self._what} of one caller")
