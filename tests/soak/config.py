"""The config of a soak: which backends are in it now, under which aliases, with which credentials."""

from dataclasses import dataclass, field
from typing import Any, Final

from soak.facts import Alias
from soak.plan import Player
from switchyard_sidecar.config.load import revision

LIST_MS: Final = 800
"""The budget a list spends on a backend."""
PAGE_SIZES: Final = (0, 0, 9, 25)
ALIASES: Final = (
    (Alias("find", "cedar", "t0"), Alias("get", "alder", "t0", keep_original=True)),
    (Alias("find", "cedar", "t0"), Alias("aaa", "fir", "t1"), Alias("zzz", "birch", "t0")),
)
"""Two sets that take turns. A name in both means the same in both."""
_KEY: Final = b"the key of revisions"


@dataclass
class Declared:
    """What is declared at one time. Every change of it is written anew, whole."""

    backends: dict[str, tuple[Player, str]]
    """By name: who it is, and its URL."""
    aliases: int = 0
    """Which set."""
    pages: int = 0
    """Which page size."""
    tokens: dict[str, bytes] = field(default_factory=dict)
    """Bearer tokens by backend: those that the config names."""
    arrived: dict[str, bytes] = field(default_factory=dict)
    """Bearer tokens by backend: those that lie in files."""
    session_keys: tuple[bytes, ...] = (b"session key 0",)
    """The newest first."""

    @property
    def page_size(self) -> int:
        """What the config says of it."""
        return PAGE_SIZES[self.pages % len(PAGE_SIZES)]

    @property
    def named(self) -> tuple[Alias, ...]:
        """The aliases of backends that are there."""
        return tuple(alias for alias in ALIASES[self.aliases % len(ALIASES)] if alias.backend in self.backends)

    def config(self) -> dict[str, Any]:
        """``gateway.json``."""
        return {
            "namespace": "agents",
            "name": "soak",
            "pageSize": self.page_size,
            "backends": [self._section(name, player, url) for name, (player, url) in self.backends.items()],
            "aliases": [
                {
                    "namespace": "agents",
                    "name": alias.name,
                    "backend": f"tools/{alias.backend}",
                    "tool": alias.tool,
                    "alias": alias.name,
                    "keepOriginal": alias.keep_original,
                }
                for alias in self.named
            ],
            **{
                key: {"file": f"cred_session-{place}", "revision": revision(_KEY, secret)}
                for place, (key, secret) in enumerate(
                    zip(("sessionKey", "previousSessionKey"), self.session_keys, strict=False)
                )
            },
        }

    def credentials(self) -> dict[str, bytes]:
        """The files beside it."""
        sessions = {f"cred_session-{place}": secret for place, secret in enumerate(self.session_keys[:2])}
        return {"cred_key": _KEY, **sessions, **{f"cred_{name}": token for name, token in self.arrived.items()}}

    def _section(self, name: str, player: Player, url: str) -> dict[str, Any]:
        section: dict[str, Any] = {
            "namespace": "tools",
            "name": name,
            "url": url,
            "prefix": name,
            "timeouts": {"listMs": LIST_MS, "connectMs": 1_000, "callMs": 12_000},
            "cache": {"defaultTtlMs": player.ttl_ms, "maxTtlMs": max(player.ttl_ms, 1_000)},
        }
        if name in self.tokens:
            credential = {"file": f"cred_{name}", "revision": revision(_KEY, self.tokens[name])}
            section["auth"] = {"type": "Bearer", "credential": credential}
        return section
