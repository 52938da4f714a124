"""What is added to a pod, as a JSON patch (RFC 6902). Pure, and nothing but additions: whatever a pod has, known or not, it keeps.

A pod may come again: when another webhook has changed it (``reinvocationPolicy: IfNeeded``), or when somebody makes a new pod of a
copy. So everything is added only where it is missing, and patching what was patched changes nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from switchyard_operator.api import pods
from switchyard_operator.api.resource import Key
from switchyard_operator.workloads.container import literal, sidecar, volume
from switchyard_operator.workloads.settings import Settings
from switchyard_sidecar.config.model import FORMAT

Operation = dict[str, Any]


def sidecar_added(pod: Mapping[str, Any], gateway: Key, settings: Settings, *, first: bool) -> Iterator[Operation]:
    """The sidecar with all that belongs to it, in a pod that has none; ``first``: before the other init containers."""
    spec = pod["spec"]
    yield from _annotated(pod["metadata"], pods.CONFIG_FORMAT, str(FORMAT))
    yield _in_list(spec, "/spec", "volumes", volume(gateway, optional=True))
    yield _in_list(spec, "/spec", "initContainers", sidecar(settings, spec), first=first)
    known = {each.get("name") for each in spec.get("imagePullSecrets") or ()}
    missing = [{"name": name} for name in settings.pull_secrets if name not in known]
    if missing and not known:
        yield _add("/spec/imagePullSecrets", missing)
    else:
        yield from (_add("/spec/imagePullSecrets/-", each) for each in missing)


def told(pod: Mapping[str, Any], url: str) -> Iterator[Operation]:
    """The endpoint's URL in the environment of each container that has no such variable.

    It comes first, so that the values of others can refer to it: ``$(SWITCHYARD_URL)``.
    """
    variable = {"name": pods.URL_VARIABLE, "value": literal(url)}
    for index, container in enumerate(pod["spec"].get("containers") or ()):
        names = {each.get("name") for each in container.get("env") or ()}
        if container.get("name") != pods.SIDECAR and pods.URL_VARIABLE not in names:
            yield _in_list(container, f"/spec/containers/{index}", "env", variable, first=True)


def _annotated(metadata: Mapping[str, Any], name: str, value: str) -> Iterator[Operation]:
    if not metadata.get("annotations"):
        yield _add("/metadata/annotations", {name: value})
    elif metadata["annotations"].get(name) != value:
        yield _add(f"/metadata/annotations/{_escaped(name)}", value)


def _in_list(parent: Mapping[str, Any], path: str, name: str, value: object, *, first: bool = False) -> Operation:
    if not parent.get(name):
        return _add(f"{path}/{name}", [value])
    return _add(f"{path}/{name}/{0 if first else '-'}", value)


def _add(path: str, value: object) -> Operation:
    return {"op": "add", "path": path, "value": value}


def _escaped(step: str) -> str:
    """As in a JSON pointer (RFC 6901)."""
    return step.replace("~", "~0").replace("/", "~1")
