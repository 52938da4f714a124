"""Reading an issuer's key set: by the client that talks to backends, and so within the same bounds."""

from typing import Final

from switchyard_sidecar.access.refusals import KeySetError
from switchyard_sidecar.config.apply import AppliedIssuer
from switchyard_sidecar.config.model import Backend, Credential, Tls
from switchyard_sidecar.upstream.faults import Fault
from switchyard_sidecar.upstream.http import HttpPool

ACCEPT: Final = "application/jwk-set+json, application/json"
"""RFC 7517, section 8.5.2; and what most issuers say."""

_CA: Final = Credential(file="cred_ca", revision="")


async def fetch_key_set(http: HttpPool, issuer: AppliedIssuer, *, max_bytes: int) -> bytes:
    """The bytes at the issuer's ``jwks_url``. Whoever asks bounds the time; redirects are not followed.

    Raises:
        KeySetError: there is no good answer.
    """
    place = Backend(
        namespace="",
        name="",
        url=issuer.config.jwks_url or "",
        tls=Tls(ca=_CA if issuer.ca is not None else None),
    )
    try:
        endpoint = await http.endpoint(place, {_CA.file: issuer.ca} if issuer.ca is not None else {})
        async with http.send(endpoint, "GET", {"Accept": ACCEPT}, repeatable=True, redirects=0) as reply:
            if reply.status != 200:
                raise KeySetError(f"HTTP {reply.status}")
            return await reply.body(max_bytes)
    except Fault as fault:
        raise KeySetError(fault.reason) from None
