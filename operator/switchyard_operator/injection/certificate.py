"""The certificate that the server shows: two files of a mounted Secret, read again whenever they change.

A kubelet replaces such a folder at once, by renaming a link; so both files are always of one making. What cannot be used leaves
the certificate as it was: whoever rotates certificates lets the old one be good for a while longer.
"""

import asyncio
import ssl
from pathlib import Path
from typing import Final

import structlog
from cryptography.x509 import load_pem_x509_certificates

CHAIN_FILE: Final = "tls.crt"
KEY_FILE: Final = "tls.key"
LOOK_S: Final = 1.0
"""How often the files are looked at."""

_log = structlog.get_logger()


class Certificate:
    """The certificate in a folder. :attr:`tls` always shows the present one to new connections."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen: tuple[object, ...] = ()
        self._complaint = ""
        self.tls: Final = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        self.usable: Final = asyncio.Event()
        """Set once there has been one that can be used."""
        self.expires_s = 0.0
        """When the present one ends, in seconds since 1970; 0: there is none yet."""

    async def follow(self) -> None:
        """Read the files whenever they change, until cancelled."""
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)

    def look(self) -> None:
        """Read the files if they are others than before."""
        # Through the links, so that both are of one making even while the folder is being replaced.
        folder = (self._folder / CHAIN_FILE).resolve().parent
        chain, key = folder / CHAIN_FILE, folder / KEY_FILE
        try:
            seen = tuple(
                (path, status.st_mtime_ns, status.st_ino) for path in (chain, key) for status in (path.stat(),)
            )
            if seen == self._seen:
                return
            expires = load_pem_x509_certificates(chain.read_bytes())[0].not_valid_after_utc
            # Tried on another context first: half of a pair must not get into the one that is in use.
            ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(chain, key)
            self.tls.load_cert_chain(chain, key)
        except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
            self._complain(f"{folder}: {error}")
            return
        self._seen, self._complaint, self.expires_s = seen, "", expires.timestamp()
        self.usable.set()
        _log.info("certificate_loaded", folder=str(self._folder), expires=expires.isoformat())

    def _complain(self, complaint: str) -> None:
        if complaint != self._complaint:
            self._complaint = complaint
            _log.warning("certificate_not_usable", error=complaint)
