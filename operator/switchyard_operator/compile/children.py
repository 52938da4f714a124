"""The two objects that carry a compiled gateway in a cluster: a ConfigMap, and a Secret beside it."""

import base64
from typing import Any, Final

from switchyard_operator.compile.gateway import CompiledGateway
from switchyard_operator.compile.rendering import render
from switchyard_sidecar.config.model import CONFIG_FILE

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
GATEWAY_LABEL: Final = "switchyard.dev/config-of"
"""On children: the gateway whose config they carry."""


def config_map(compiled: CompiledGateway) -> dict[str, Any]:
    """The ConfigMap with ``gateway.json``."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": _metadata(compiled),
        "data": {CONFIG_FILE: render(compiled.config).decode()},
    }


def secret(compiled: CompiledGateway) -> dict[str, Any]:
    """The Secret with the ``cred_*`` files."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": _metadata(compiled),
        "type": "Opaque",
        "data": {file: base64.b64encode(compiled.credentials[file]).decode() for file in sorted(compiled.credentials)},
    }


def _metadata(compiled: CompiledGateway) -> dict[str, Any]:
    return {
        "name": f"switchyard-{compiled.config.name}",
        "namespace": compiled.config.namespace,
        "labels": {MANAGED_BY: "switchyard", GATEWAY_LABEL: compiled.config.name},
    }
