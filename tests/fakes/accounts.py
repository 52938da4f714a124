"""A server that asks who calls: behind each bearer token stands an account with tools, sessions and streams of its own."""

from collections.abc import Mapping

from fakes import hostile
from fakes.hostile import HostileBackend, Reply, Request
from fakes.ordinary import OrdinaryBackend

UNKNOWN = hostile.body(b"who are you?", status=401, content_type="text/plain", fields=[("WWW-Authenticate", "Bearer")])


class Accounts(HostileBackend):
    """``by_token`` may be changed at any time. Who presents anything else is answered 401.

    An account is an ordinary backend that does not listen: what its caller sends is recorded both here and there.
    """

    def __init__(self, by_token: Mapping[str, OrdinaryBackend]) -> None:
        super().__init__(self._reply)
        self.by_token = dict(by_token)

    def _reply(self, request: Request) -> Reply:
        scheme, _, token = (request.header("Authorization") or "").partition(" ")
        account = self.by_token.get(token)
        if scheme != "Bearer" or account is None:
            return UNKNOWN
        account.requests.append(request)
        account._arrivals.beat()
        return account.answer(request)

    @property
    def presented(self) -> set[str | None]:
        """All values of ``Authorization`` so far."""
        return {request.header("Authorization") for request in self.requests}
