"""On what terms one issuer's tokens are taken. Pure."""

from dataclasses import dataclass

from switchyard_sidecar.access.caller import digest_of
from switchyard_sidecar.config.model import Issuer


@dataclass(frozen=True, slots=True)
class Terms:
    """An issuer's section, and what stands for it."""

    section: Issuer
    digest: str
    """Of all that decides whether a token is taken, but for the keys."""

    @classmethod
    def of(cls, section: Issuer) -> "Terms":
        """Compile a section of the config."""
        return cls(section, digest_of(section.terms))

    def voucher(self, mark: str) -> str:
        """What callers are let in by whose tokens the key with this mark has signed."""
        return f"{self.digest}:{mark}"
