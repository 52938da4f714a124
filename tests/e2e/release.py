"""Installing Switchyard as users do: the chart, by the real Helm, with the images of these tests."""

import json
from pathlib import Path
from typing import Any, Final

from e2e import images
from e2e.kind import Cluster, run

CHART: Final = images.ROOT / "charts" / "switchyard"
RELEASE: Final = "switchyard"
SYSTEM: Final = "switchyard-system"
WAIT_S: Final = 180
"""Pods of the webhook wait for the operator's certificates, and the kubelet looks for them ever more seldom."""


def helm(cluster: Cluster, *arguments: str | Path) -> str:
    """Run Helm on the cluster, in the release's namespace."""
    where = ("--kubeconfig", cluster.kubeconfig, "--namespace", SYSTEM)
    return run("helm", *arguments, *where, timeout_s=WAIT_S + 60)


def install(cluster: Cluster, *options: str, name: str = RELEASE) -> None:
    """Install a release, or upgrade it to these options, and wait until everything is ready.

    The namespace admits nothing but what satisfies the Pod Security Standard *restricted*.
    """
    cluster.apply(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": SYSTEM, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
            }
        )
    )
    # CRDs outlive their releases: those that are there may belong to one of another name.
    upgrade = ("upgrade", "--install", name, CHART, "--take-ownership", "--wait", f"--timeout={WAIT_S}s")
    helm(cluster, *upgrade, *values(), *options)


def values() -> list[str]:
    """What makes Helm take the images of these tests. Pods are replaced where an image was built anew."""
    built = run("docker", "image", "inspect", images.OPERATOR, "--format={{.Id}}").strip()
    return [f"--set-json={json.dumps(_values(built))}"]


def _values(built: str) -> dict[str, Any]:
    mark = {"podAnnotations": {"built": built}}
    return {
        "operator": {"image": _image(images.OPERATOR), **mark},
        "webhook": mark,
        "sidecar": {"image": _image(images.SIDECAR)},
    }


def _image(reference: str) -> dict[str, str]:
    registry, _, rest = reference.partition("/")
    repository, _, tag = rest.partition(":")
    return {"registry": registry, "repository": repository, "tag": tag}
