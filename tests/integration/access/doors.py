"""Gateways that let in by tokens, and what clients see of them that have the wrong one."""

import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from fakes.clients import Answer
from fakes.gateway import Backends, Gateway, gateway
from fakes.issuer import Issuer
from switchyard_sidecar.access import pace as access_pace
from switchyard_sidecar.config.load import revision
from switchyard_sidecar.serving import Pace

KEY = b"the key of this directory"
QUICK = Pace(issuers=access_pace.Pace(refresh_s=0.2, gap_s=0.05, retry_s=0.1, read_s=1.0, patience_s=3.0))
"""Keys are read more often than in earnest."""

_PARAMETER = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def static(directory: Path, name: str, secret: str | None, written: str | None = None, **claims: Any) -> dict[str, Any]:
    """A static token's section; its file is written too, unless there is no ``secret``.

    ``written``: what stands in the file in place of it.
    """
    file = f"cred_token-{name}"
    (directory / "cred_key").write_bytes(KEY)
    if secret is not None:
        (directory / file).write_text(secret if written is None else written)
    credential = {"file": file, "revision": revision(KEY, (secret or "on its way").encode())}
    return {"name": name, "credential": credential, "claims": claims}


def challenge(answer: Answer) -> dict[str, str]:
    """The parameters of the challenge, which must be one for bearer tokens."""
    scheme, _, parameters = answer.headers["WWW-Authenticate"].partition(" ")
    assert scheme == "Bearer"
    found = dict(_PARAMETER.findall(parameters))
    assert ", ".join(f'{name}="{value}"' for name, value in found.items()) == parameters
    return found


@asynccontextmanager
async def guarded(
    directory: Path,
    backends: Backends,
    issuer: Issuer,
    *,
    pace: Pace = QUICK,
    section: Mapping[str, Any] = {},
    **keys: Any,
) -> AsyncIterator[Gateway]:
    """A gateway that takes the tokens of one issuer. ``section`` adds to the issuer's; the clients present a token of it."""
    authentication = {"issuers": [issuer.section(**section)]}
    async with gateway(directory, backends, pace=pace, **{"authentication": authentication, **keys}) as gw:
        gw.modern.token = gw.legacy.token = issuer.token()
        yield gw
