"""The bytes of ``gateway.json``, and the hash by which everyone names them."""

import hashlib
import json
from typing import Any

import msgspec

from switchyard_sidecar.config.model import GatewayConfig


def render(config: GatewayConfig) -> bytes:
    """The file: all values spelled out (absent ones left out), keys sorted, indented for people who look at it."""
    return msgspec.json.format(_canonical(_tree(config)), indent=2) + b"\n"


def config_hash(config: GatewayConfig) -> str:
    """Hex SHA-256 over the canonical JSON of everything but the hash itself."""
    tree = {name: value for name, value in _tree(config).items() if name != "configHash"}
    return hashlib.sha256(_canonical(tree)).hexdigest()


def sealed(config: GatewayConfig) -> GatewayConfig:
    """The config with its own hash in it."""
    return config.model_copy(update={"config_hash": config_hash(config)})


def _canonical(tree: dict[str, Any]) -> bytes:
    return json.dumps(tree, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def _tree(config: GatewayConfig) -> dict[str, Any]:
    return config.model_dump(mode="json", by_alias=True, exclude_none=True)
