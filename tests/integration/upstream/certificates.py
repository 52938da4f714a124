"""Certificates for tests of TLS, made by the ``openssl`` program: an authority, a server and a client."""

import shutil
import ssl
import subprocess
from dataclasses import dataclass
from pathlib import Path

from required import missing


@dataclass(frozen=True)
class Certificates:
    """PEM contents, and where the server's are."""

    ca: bytes
    client: bytes
    """Certificate and key in one."""
    folder: Path

    def server(self, *, wants_client: bool) -> ssl.SSLContext:
        """A server's context, for its name."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.folder / "server.pem", self.folder / "server.key")
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(self.folder / "ca.pem")
        return context


def make(folder: Path, server_name: str = "DNS:backend.test") -> Certificates:
    """Make all of them; skips the test where there is no ``openssl``."""
    if shutil.which("openssl") is None:
        missing("there is no openssl program")
    _openssl(
        folder,
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=authority -days 2"
        " -keyout ca.key -out ca.pem",
    )
    for name, extension in (("server", f"subjectAltName={server_name}"), ("client", "extendedKeyUsage=clientAuth")):
        (folder / f"{name}.ext").write_text(extension)
        _openssl(
            folder,
            f"req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN={name}"
            f" -keyout {name}.key -out {name}.csr",
        )
        _openssl(
            folder,
            f"x509 -req -in {name}.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2"
            f" -extfile {name}.ext -out {name}.pem",
        )
    client = (folder / "client.pem").read_bytes() + (folder / "client.key").read_bytes()
    return Certificates((folder / "ca.pem").read_bytes(), client, folder)


def _openssl(folder: Path, arguments: str) -> None:
    subprocess.run(["openssl", *arguments.split(" ")], cwd=folder, check=True, capture_output=True)
