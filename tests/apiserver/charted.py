"""What the chart renders, brought to an API server as it is."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from apiserver.client import NAMESPACES, Client, Object, Resource
from chart.helm import NAMESPACE, objects, text

ROLES: Final = ("ClusterRole", "Role")
RBAC: Final = (*ROLES, *(f"{kind}Binding" for kind in ROLES), "ServiceAccount")
OPERATOR: Final = "switchyard-operator"


async def bring(client: Client, objects: Iterable[Object], *, dry_run: bool = False) -> None:
    """Apply objects, or have them validated as if: unknown fields are refused."""
    for each in objects:
        resource = await _resource(client, each["apiVersion"], each["kind"])
        namespace, name = each["metadata"].get("namespace", NAMESPACE), each["metadata"]["name"]
        query = {"fieldManager": "helm", "force": "true", "fieldValidation": "Strict"}
        await client.request(
            "PATCH",
            resource.path(namespace, name),
            json.dumps(each).encode(),
            content_type="application/apply-patch+yaml",
            query=query | ({"dryRun": "All"} if dry_run else {}),
        )


async def make_namespaces(client: Client, *names: str) -> None:
    """Make namespaces that may be there already."""
    for name in names:
        await client.apply(NAMESPACES, None, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})


async def operators_token(client: Client, values: Mapping[str, Any] | None = None, name: str = OPERATOR) -> str:
    """A token for the operator's account, which has the permissions that the chart gives it and is held to its policy."""
    await make_namespaces(client, NAMESPACE)
    policies = ("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding")
    await bring(client, [each for each in objects(text(values)) if each["kind"] in (*RBAC, *policies)])
    return await client.token(NAMESPACE, name)


def operators_rules() -> list[Object]:
    """All that the operator needs, wherever it needs it."""
    roles = [each for each in objects(text()) if each["kind"] in ROLES]
    return [rule for each in roles if each["metadata"]["name"].startswith(OPERATOR) for rule in each["rules"]]


async def _resource(client: Client, api_version: str, kind: str) -> Resource:
    root = "/api" if "/" not in api_version else "/apis"
    listed = (await client.request("GET", f"{root}/{api_version}"))["resources"]
    found = next(each for each in listed if each["kind"] == kind and "/" not in each["name"])
    return Resource(api_version, found["name"], namespaced=found["namespaced"])
