"""A real Kubernetes API server: etcd, kube-apiserver and, where wanted, kube-controller-manager, as processes on loopback.

The programs come from a folder as ``setup-envtest`` makes it. There are no nodes: what is stored is validated, defaulted, authorised and
watched as everywhere, and nothing runs.
"""

import json
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from apiserver.programs import Program
from fakes.waiting import PATIENCE_S
from soak.ports import free_port

START_S = 45.0
"""How long the API server may take to be ready: 5 s when nothing else runs."""
ADMIN_TOKEN = "admin-of-the-tests"
_LOOPBACK = "127.0.0.1"


class ApiServer:
    """One control plane. ``url``, ``ca_file`` and ``ADMIN_TOKEN`` (group ``system:masters``) are all that a client needs."""

    def __init__(self, assets: Path, folder: Path) -> None:
        """Prepare a control plane of the programs in ``assets``; keys, data and logs go to ``folder``."""
        self.folder = folder
        self.assets = assets
        port, etcd = free_port(), f"http://{_LOOPBACK}:{free_port()}"
        self.url = f"https://{_LOOPBACK}:{port}"
        self.ca_file = folder / "certificates" / "apiserver.crt"
        self._service_account_key = folder / "service-accounts.key"
        self._etcd = self._program("etcd", _etcd_flags(etcd, folder / "etcd"))
        self.kube_apiserver = self._program("kube-apiserver", self._apiserver_flags(port, etcd))
        self._controller_manager = self._program("kube-controller-manager", self._controller_manager_flags())

    def start(self) -> None:
        """Start both programs and return when the API server says that it is ready."""
        _make_key(self._service_account_key)
        self._tokens.write_text(f'{ADMIN_TOKEN},admin,admin,"system:masters"\n')
        self._etcd.start()
        self.start_apiserver()

    def start_apiserver(self) -> None:
        """Start the API server, the first time or again; its address, tokens and data are what they were."""
        self.kube_apiserver.start()
        deadline = time.monotonic() + START_S
        while not self._ready():
            self._etcd.check()
            self.kube_apiserver.check()
            if time.monotonic() > deadline:
                raise TimeoutError(f"not ready within {START_S} s. {self.kube_apiserver.tail()}")
            time.sleep(0.05)

    def stop_apiserver(self) -> None:
        """End the API server as a crash does. What it has answered is stored."""
        self.kube_apiserver.kill()

    def pause_apiserver(self) -> None:
        """Let it hang: connections stand, nothing is answered."""
        self.kube_apiserver.pause()

    def resume_apiserver(self) -> None:
        """Let it go on."""
        self.kube_apiserver.resume()

    def start_controllers(self) -> None:
        """Start garbage collection, the deletion of namespaces and the making of their ``default`` service accounts.

        For resources that exist now: of those defined later the garbage collector learns within half a minute.
        """
        self._controller_manager.start()

    def stop_controllers(self) -> None:
        """End kube-controller-manager, if it runs."""
        self._controller_manager.kill()

    def close(self) -> None:
        """End everything."""
        for program in (self._controller_manager, self.kube_apiserver, self._etcd):
            program.kill()

    def kubeconfig(self, token: str = ADMIN_TOKEN) -> Path:
        """A kubeconfig file for whoever the token stands for."""
        config = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [
                {"name": "tests", "cluster": {"server": self.url, "certificate-authority": str(self.ca_file)}}
            ],
            "users": [{"name": "user", "user": {"token": token}}],
            "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "user"}}],
            "current-context": "tests",
        }
        path = self.folder / f"kubeconfig-{len(list(self.folder.glob('kubeconfig-*')))}.json"
        path.write_text(json.dumps(config))
        return path

    @property
    def tls(self) -> ssl.SSLContext:
        """Trusts this server alone."""
        return ssl.create_default_context(cafile=self.ca_file)

    @property
    def _tokens(self) -> Path:
        return self.folder / "tokens.csv"

    def _ready(self) -> bool:
        if not self.ca_file.exists():
            return False
        request = urllib.request.Request(f"{self.url}/readyz", headers={"Authorization": f"Bearer {ADMIN_TOKEN}"})
        try:
            with urllib.request.urlopen(request, context=self.tls, timeout=PATIENCE_S) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, ssl.SSLError, OSError):
            return False

    def _program(self, name: str, flags: dict[str, object]) -> Program:
        command = [str(self.assets / name), *(f"--{flag}={value}" for flag, value in flags.items())]
        return Program(command, self.folder / f"{name}.log")

    def _apiserver_flags(self, port: int, etcd: str) -> dict[str, object]:
        return {
            "allow-privileged": "true",
            "authorization-mode": "RBAC",
            "bind-address": _LOOPBACK,
            "cert-dir": self.ca_file.parent,  # a certificate of its own making, which is its own authority
            # As envtest does: without controllers no namespace has the service account that the plugin asks for.
            "disable-admission-plugins": "ServiceAccount",
            "endpoint-reconciler-type": "none",
            "etcd-servers": etcd,
            "secure-port": port,
            "service-account-issuer": "https://kubernetes.default.svc",
            "service-account-key-file": self._service_account_key,
            "service-account-signing-key-file": self._service_account_key,
            "service-cluster-ip-range": "10.0.0.0/24",
            "token-auth-file": self._tokens,
        }

    def _controller_manager_flags(self) -> dict[str, object]:
        return {
            "controllers": "garbage-collector-controller,namespace-controller,serviceaccount-controller",
            "kubeconfig": self.kubeconfig(),
            "leader-elect": "false",
            "secure-port": 0,
        }


def _etcd_flags(url: str, data: Path) -> dict[str, object]:
    peer = f"http://{_LOOPBACK}:{free_port()}"
    return {
        "advertise-client-urls": url,
        "data-dir": data,
        "initial-advertise-peer-urls": peer,
        "initial-cluster": f"default={peer}",
        "listen-client-urls": url,
        "listen-peer-urls": peer,
        "unsafe-no-fsync": "true",
    }


def _make_key(path: Path) -> None:
    """Make the key with which tokens of service accounts are signed, in a form that kube-apiserver reads (not PKCS #8)."""
    command = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(path)]
    subprocess.run(command, check=True, capture_output=True)


def version(assets: Path) -> str:
    """The minor version of the API server in a folder, such as ``1.36``."""
    said = subprocess.run([assets / "kube-apiserver", "--version"], check=True, capture_output=True, text=True).stdout
    return ".".join(said.removeprefix("Kubernetes v").split(".")[:2])


def has_controllers(assets: Path) -> bool:
    """Whether a folder has kube-controller-manager too."""
    return (assets / "kube-controller-manager").exists()
