"""What users declare, and what comes of it beside a gateway."""

import base64
import json
from collections.abc import Awaitable
from typing import Any

from apiserver.client import CONFIG_MAPS, SECRETS, Client, Object, RefusedError
from fakes.waiting import eventually

SOON_S = 20.0
"""How long a change may take to arrive on a busy machine; it takes a tenth of a second on an idle one."""


def backend(name: str, **spec: Any) -> Object:
    """An MCPBackend, at an address of its own name."""
    return _object("MCPBackend", name, {"url": f"http://{name}.example/mcp"} | spec)


def gateway(name: str, *entries: str | Object, **spec: Any) -> Object:
    """An MCPGateway of backends, by name or as entries."""
    named = [{"name": entry} if isinstance(entry, str) else entry for entry in entries]
    return _object("MCPGateway", name, {"backends": named} | spec)


def alias(name: str, backend: str, tool: str) -> Object:
    """An MCPToolAlias that exposes a tool under the alias's own name."""
    return _object("MCPToolAlias", name, {"backendRef": {"name": backend}, "tool": tool, "alias": name})


def credential(name: str, token: str, *, labelled: bool = True) -> Object:
    """A Secret with a token, which the operator may see if it is labelled."""
    labels = {"switchyard.dev/credential": "true"} if labelled else {}
    data = {"token": base64.b64encode(token.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "labels": labels}, "data": data}


def bearer(name: str) -> Object:
    """``spec.auth`` with the token of a Secret."""
    return {"type": "Bearer", "secretKeyRef": {"name": name, "key": "token"}}


def _object(kind: str, name: str, spec: Object) -> Object:
    return {"apiVersion": "switchyard.dev/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec}


async def found(asking: Awaitable[Object]) -> Object | None:
    """What a request brings, or ``None`` where there is nothing."""
    try:
        return await asking
    except RefusedError as refused:
        if refused.code == 404:
            return None
        raise


class Children:
    """The ConfigMap and the Secret beside one gateway."""

    def __init__(self, client: Client, namespace: str, gateway: str) -> None:
        self._client = client
        self._namespace = namespace
        self._name = f"switchyard-{gateway}"

    async def config_map(self) -> Object | None:
        """The ConfigMap, if there is one."""
        return await found(self._client.get(CONFIG_MAPS, self._namespace, self._name))

    async def secret(self) -> Object | None:
        """The Secret, if there is one."""
        return await found(self._client.get(SECRETS, self._namespace, self._name))

    async def files(self) -> dict[str, bytes]:
        """The directory that sidecars will see."""
        config_map, secret = await self.config_map() or {}, await self.secret() or {}
        plain = {name: text.encode() for name, text in (config_map.get("data") or {}).items()}
        return plain | {name: base64.b64decode(text) for name, text in (secret.get("data") or {}).items()}

    async def config(self) -> Object | None:
        """``gateway.json``, if there is one."""
        content = (await self.files()).get("gateway.json")
        return None if content is None else json.loads(content)

    async def urls(self) -> list[str | None] | None:
        """The addresses of all backends in the config, ``None`` for one that is left out; ``None``: no config."""
        config = await self.config()
        return None if config is None else [backend.get("url") or None for backend in config["backends"]]

    async def credentials(self) -> set[bytes]:
        """The contents of the credential files, without the key of revisions."""
        return {
            content for name, content in (await self.files()).items() if name.startswith("cred_") and name != "cred_key"
        }

    async def versions(self) -> tuple[str, str]:
        """The resource versions of both: who has written them changes them."""
        config_map, secret = await self.config_map(), await self.secret()
        assert config_map is not None
        assert secret is not None
        return config_map["metadata"]["resourceVersion"], secret["metadata"]["resourceVersion"]

    async def serve(self, *urls: str | None, within_s: float = SOON_S) -> None:
        """Wait until the config has exactly these backends, by address; ``None``: one that is left out."""

        async def holds() -> bool:
            return await self.urls() == list(urls)

        try:
            await eventually(holds, within_s)
        except TimeoutError:
            raise AssertionError(f"after {within_s} s it is still {await self.urls()}") from None
