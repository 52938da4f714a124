"""TLS contexts towards backends: one for equal settings, since each costs most of a mebibyte.

Built off the event loop: reading the system's certificates takes tens of milliseconds.
"""

import asyncio
import os
import ssl
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from switchyard_sidecar.config.model import Credential, Tls
from switchyard_sidecar.upstream import faults
from switchyard_sidecar.upstream.faults import Fault

MAX_CONTEXTS: Final = 256
"""Contexts kept for reuse; beyond that the least recently used is forgotten (connections keep their own)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """What makes two contexts equal: contents, not file names."""

    ca: bytes | None
    client_certificate: bytes | None
    insecure_skip_verify: bool


def settings(tls: Tls, credentials: Mapping[str, bytes]) -> Settings:
    """The settings of one backend.

    Raises:
        Fault: a credential file is missing.
    """
    return Settings(_bytes(tls.ca, credentials), _bytes(tls.client_certificate, credentials), tls.insecure_skip_verify)


_PLAIN: Final = Settings(ca=None, client_certificate=None, insecure_skip_verify=False)


class Contexts:
    """The contexts in use, by their settings."""

    def __init__(self) -> None:
        self._contexts: dict[Settings, asyncio.Future[ssl.SSLContext]] = {}

    async def get(self, wanted: Settings) -> ssl.SSLContext | Literal[True]:
        """The context for these settings, or True for aiohttp's own, which has been made anyway, where nothing is set.

        Those who ask together wait for one context.

        Raises:
            Fault: a certificate or key is no usable PEM.
        """
        if wanted == _PLAIN:
            return True
        building = self._contexts.pop(wanted, None)
        if building is None:
            building = asyncio.get_running_loop().run_in_executor(None, _build, wanted)
        self._contexts[wanted] = building  # now the most recently used
        while len(self._contexts) > MAX_CONTEXTS:
            self._contexts.pop(next(iter(self._contexts)))
        try:
            return await asyncio.shield(building)
        except (ssl.SSLError, ValueError):
            self._contexts.pop(wanted, None)
            raise Fault(faults.BAD_CERTIFICATE) from None


def _build(wanted: Settings) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    if wanted.ca is None:
        context.load_default_certs()
    else:
        # Not create_default_context: an empty text would make that trust the system's certificates after all.
        context.load_verify_locations(cadata=wanted.ca.decode("ascii"))
    context.set_alpn_protocols(["http/1.1"])
    if wanted.insecure_skip_verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if wanted.client_certificate is not None:
        _load_chain(context, wanted.client_certificate)
    return context


def _load_chain(context: ssl.SSLContext, pem: bytes) -> None:
    """Load certificate and key, which the standard library takes from files alone: one in memory where there are such."""
    if hasattr(os, "memfd_create"):  # Linux; the sidecar's root file system is read-only there
        descriptor = os.memfd_create("client-certificate")
        try:
            os.write(descriptor, pem)
            context.load_cert_chain(f"/proc/self/fd/{descriptor}", password=_no_password)
        finally:
            os.close(descriptor)
        return
    with tempfile.NamedTemporaryFile() as file:
        file.write(pem)
        file.flush()
        context.load_cert_chain(file.name, password=_no_password)


def _no_password() -> str:
    """An encrypted key is refused; without this, OpenSSL would ask for its password on the terminal."""
    raise ValueError("the private key is encrypted")


def _bytes(credential: Credential | None, credentials: Mapping[str, bytes]) -> bytes | None:
    if credential is None:
        return None
    if (content := credentials.get(credential.file)) is None:
        raise Fault(faults.BAD_CREDENTIAL)
    return content
