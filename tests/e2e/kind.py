"""One kind cluster that these tests made themselves, with a kubeconfig of its own: no other context is ever looked at."""

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

NAME: Final = os.environ.get("E2E_CLUSTER", "switchyard-e2e")
"""The cluster's name; another one lets two runs stand beside each other."""
NODE_IMAGE: Final = os.environ.get("KIND_NODE_IMAGE")
"""The node image; unset: what this version of kind comes with."""


class CommandError(Exception):
    """A program failed; the message holds the command and what it said."""


def run(*command: str | Path, stdin: str | None = None, timeout_s: float = 120, cwd: Path | None = None) -> str:
    """Run a program to its end and return its standard output."""
    done = subprocess.run(
        command,
        input=stdin,
        stdin=None if stdin is not None else subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
        cwd=cwd,
    )
    if done.returncode:
        raise CommandError(f"`{' '.join(map(str, command))}` ended with {done.returncode}:\n{done.stdout}{done.stderr}")
    return done.stdout


@dataclass(frozen=True)
class Cluster:
    """A running cluster."""

    kubeconfig: Path

    @classmethod
    def create(cls, folder: Path) -> "Cluster":
        """Create the cluster, or go on with the one that ``KEEP=1`` left."""
        cluster = cls(folder / "kubeconfig")
        if NAME in run("kind", "get", "clusters").split():
            if os.environ.get("KEEP") == "1":
                run("kind", "export", "kubeconfig", "--name", NAME, "--kubeconfig", cluster.kubeconfig)
                return cluster
            cluster.delete()
        image = ("--image", NODE_IMAGE) if NODE_IMAGE else ()
        run(
            "kind",
            "create",
            "cluster",
            "--name",
            NAME,
            "--kubeconfig",
            cluster.kubeconfig,
            "--wait",
            "180s",
            *image,
            timeout_s=400,
        )
        return cluster

    def delete(self) -> None:
        """Remove it with all that runs there."""
        run("kind", "delete", "cluster", "--name", NAME, "--kubeconfig", self.kubeconfig)

    def load(self, images: Sequence[str]) -> None:
        """Bring images from the Docker engine to the node."""
        run("kind", "load", "docker-image", "--name", NAME, *images, timeout_s=300)

    def command(self, *arguments: str | Path) -> list[str]:
        """A kubectl command line, for programs that stay open."""
        return ["kubectl", "--kubeconfig", str(self.kubeconfig), *map(str, arguments)]

    def kubectl(self, *arguments: str | Path, stdin: str | None = None, timeout_s: float = 120) -> str:
        """Run kubectl to its end."""
        return run(*self.command(*arguments), stdin=stdin, timeout_s=timeout_s)

    def apply(self, manifests: str | Path, *, namespace: str | None = None) -> None:
        """``kubectl apply`` a file, a folder, or a text."""
        where = ("-n", namespace) if namespace else ()
        if isinstance(manifests, Path):
            self.kubectl("apply", *where, "-f", manifests)
        else:
            self.kubectl("apply", *where, "-f", "-", stdin=manifests)

    def get(self, kind: str, name: str, namespace: str) -> dict[str, Any]:
        """One object."""
        found: dict[str, Any] = json.loads(self.kubectl("get", kind, name, "-n", namespace, "-o", "json"))
        return found

    def collect(self, folder: Path, namespaces: Sequence[str]) -> None:
        """Leave what a person needs to understand a failure: objects, events, and what every container said."""
        folder.mkdir(parents=True, exist_ok=True)
        for namespace in namespaces:
            kinds = "pods,services,deployments,configmaps,mcpgateways,mcpbackends,mcptoolaliases,leases"
            self._keep(folder / f"{namespace}.yaml", "get", kinds, "-n", namespace, "-o", "yaml", "--ignore-not-found")
            self._keep(folder / f"{namespace}.events", "get", "events.events.k8s.io", "-n", namespace)
            self._keep(folder / f"{namespace}.pods", "describe", "pods", "-n", namespace)
            listed = self._said("get", "pods", "-n", namespace, "-o", "name")
            for pod in listed.split():
                log = folder / f"{namespace}.{pod.removeprefix('pod/')}.log"
                self._keep(log, "logs", pod, "-n", namespace, "--all-containers", "--prefix", "--tail", "2000")

    def _keep(self, file: Path, *arguments: str) -> None:
        file.write_text(self._said(*arguments))

    def _said(self, *arguments: str) -> str:
        try:
            return self.kubectl(*arguments, timeout_s=30)
        except (CommandError, subprocess.TimeoutExpired) as error:
            return str(error)


def scratch() -> Path:
    """A folder for one run of the tests."""
    return Path(tempfile.mkdtemp(prefix="switchyard-e2e-"))
