"""A caller's own token on its way to backends that are to get it (``auth: Forward``), and nowhere else.

It is the only credential that changes while sessions go on: callers renew their tokens. Whoever sends a request asks for
the header then, so that the one in force goes with every request there is, also those that end or resume something.
"""


class ForwardedToken:
    """The bearer token of one caller, as it was last presented. It shows itself to nobody but who asks for the header."""

    __slots__ = ("_header",)

    def __init__(self, token: str) -> None:
        self.replace(token)

    def replace(self, token: str) -> None:
        """Have another token go with all requests from now on."""
        self._header = f"Bearer {token}"

    @property
    def header(self) -> str:
        """The value of ``Authorization`` (RFC 6750, section 2.1)."""
        return self._header
