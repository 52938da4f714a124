"""Installing Switchyard as users do: the chart, by the real Helm, with the images of these tests."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from e2e import images
from e2e.kind import Cluster, run

CHART: Final = images.ROOT / "charts" / "switchyard"
RELEASE: Final = "switchyard"
SYSTEM: Final = "switchyard-system"
WAIT_S: Final = 180
"""Pods of the webhook wait for the operator's certificates, and the kubelet looks for them ever more seldom."""


@dataclass(frozen=True)
class Version:
    """A state of this repository that can be installed."""

    chart: Path
    operator: str
    sidecar: str
    """Tags of images."""


CURRENT: Final = Version(CHART, images.OPERATOR, images.SIDECAR)


def helm(cluster: Cluster, *arguments: str | Path) -> str:
    """Run Helm on the cluster, in the release's namespace."""
    where = ("--kubeconfig", cluster.kubeconfig, "--namespace", SYSTEM)
    return run("helm", *arguments, *where, timeout_s=WAIT_S + 60)


def install(cluster: Cluster, *options: str, name: str = RELEASE, version: Version = CURRENT) -> None:
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
    upgrade = ("upgrade", "--install", name, version.chart, "--take-ownership", "--wait", f"--timeout={WAIT_S}s")
    helm(cluster, *upgrade, *values(version), *options)


def values(version: Version = CURRENT) -> list[str]:
    """What makes Helm take the images of these tests. Pods are replaced where an image was built anew."""
    mark = {"podAnnotations": {"built": images.inspected(version.operator)["Id"]}}
    said = {
        "operator": {"image": _image(version.operator), **mark},
        "webhook": mark,
        "sidecar": {"image": _image(version.sidecar)},
    }
    return [f"--set-json={json.dumps(said)}"]


def _image(reference: str) -> dict[str, str]:
    registry, _, rest = reference.partition("/")
    repository, _, tag = rest.partition(":")
    return {"registry": registry, "repository": repository, "tag": tag}
