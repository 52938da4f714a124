"""Write config directories as tests need them."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from switchyard_sidecar.config.load import revision

KEY = b"the key of this directory"


def credential(name: str, secret: bytes = b"s3cret") -> dict[str, str]:
    """A reference to a credential file with these bytes."""
    return {"file": name, "revision": revision(KEY, secret)}


def backend(name: str, **keys: Any) -> dict[str, Any]:
    """One backend's section."""
    return {"namespace": "tools", "name": name, "url": f"http://{name}/mcp", **keys}


def bearer(name: str, file: str, secret: bytes = b"s3cret") -> dict[str, Any]:
    """A backend that is shown a token from a file."""
    return backend(name, auth={"type": "Bearer", "credential": credential(file, secret)})


def gateway(*backends: dict[str, Any], **keys: Any) -> dict[str, Any]:
    """A whole config."""
    return {"namespace": "agents", "name": "main", "backends": list(backends), **keys}


def write(directory: Path, config: Mapping[str, Any], credentials: Mapping[str, bytes] | None = None) -> None:
    """Write a directory as one does on a laptop: plain files, one after the other."""
    directory.mkdir(exist_ok=True, parents=True)
    for name, secret in {"cred_key": KEY, **(credentials or {})}.items():
        (directory / name).write_bytes(secret)
    (directory / "gateway.json").write_text(json.dumps(config))


def project(
    directory: Path, generation: str, config: Mapping[str, Any] | None, credentials: Mapping[str, bytes] | None = None
) -> None:
    """Write a directory as the kubelet does: a new folder, and the link ``..data`` swapped to it by rename."""
    folder = directory / f"..{generation}"
    folder.mkdir(parents=True)
    if config is not None:
        write(folder, config, credentials)
    new = directory / "..data_tmp"
    new.symlink_to(folder.name)
    new.rename(directory / "..data")
    for name in ("gateway.json", "cred_key", *(credentials or {})):
        if not (directory / name).is_symlink():
            (directory / name).symlink_to(f"..data/{name}")
