"""How Flux, ``helm --wait`` and others read a custom resource: the rules of kstatus, as far as they concern one.

Made after kubernetes-sigs/cli-utils, ``pkg/kstatus/README.md`` and the order in which ``status.Compute`` asks.
"""

from collections.abc import Mapping
from typing import Any, Literal

Reading = Literal["Terminating", "InProgress", "Failed", "Current"]


def read(resource: Mapping[str, Any]) -> Reading:
    """What a reader makes of an object."""
    metadata, status = resource["metadata"], resource.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "Terminating"
    if "generation" in metadata and status.get("observedGeneration", metadata["generation"]) != metadata["generation"]:
        return "InProgress"
    conditions = [(each["type"], each["status"]) for each in status.get("conditions") or ()]
    for each in conditions:
        if each == ("Reconciling", "True"):
            return "InProgress"
        if each == ("Stalled", "True"):
            return "Failed"
    for kind, truth in conditions:
        if kind == "Ready":
            return "Current" if truth == "True" else "InProgress"
    return "Current"
