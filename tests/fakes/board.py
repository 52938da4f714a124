"""A view whose news a test makes up."""

from switchyard_sidecar.protocol.versions import Era


class Board:
    """What subscribers to a hub see; ``show`` changes it, ``retired`` sends them to another. Publishing that is the test's to do."""

    def __init__(self, digest: bytes = b"") -> None:
        self.followers = 0
        self.retired = False
        self.show(digest)

    def show(self, modern: bytes, legacy: bytes | None = None) -> None:
        """Have other digests."""
        self._digests = {Era.MODERN: modern, Era.LEGACY: modern if legacy is None else legacy}

    def digest(self, era: Era) -> bytes:
        """The one that is shown."""
        return self._digests[era]

    def follow(self) -> None:
        """Count one more who is to be told."""
        self.followers += 1

    def unfollow(self) -> None:
        """Count one less."""
        self.followers -= 1
