"""What the store keeps of other people's objects: the little that decides anything, read once when an event brings it.

Contents of children are kept as digests alone: configs of a thousand gateways would not fit into memory, and the few that
have to be compared byte by byte are read when something is about to be written. Nothing here shows a secret in a repr.
"""

import base64
import gzip
import hashlib
import io
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import msgspec

from switchyard_operator.api.pod_options import port_in
from switchyard_operator.api.pods import ADMIN_PORT_NAME, CONFIG_FORMAT, DEPLOYMENT_OF, GATEWAY_OF_POD, SIDECAR
from switchyard_operator.api.resource import GROUP, Key
from switchyard_operator.compile.children import CHILD_LABELS, GATEWAY_LABEL, child_key, gateway_of
from switchyard_operator.compile.session_keys import session_keys_in
from switchyard_operator.controller.resources import DEPLOYMENTS, SECRETS, Resource
from switchyard_operator.workloads.container import containers_of
from switchyard_sidecar.config.load import COMPRESSED_CONFIG_FILE, MAX_CONFIG_BYTES
from switchyard_sidecar.config.model import CONFIG_FILE, CREDENTIAL_KEY_FILE

FIELD_MANAGER: Final = "switchyard-operator"
"""Under which children and statuses are applied (server-side apply, KEP-555)."""
REVISION_KEY_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The sidecar's container in a pod, as far as it can be told from outside."""

    image: str
    port: int | None = None
    """Of the MCP endpoint; ``None``: its arguments do not say."""
    path: str | None = None
    """Of the MCP endpoint; ``None``: the config's."""
    admin_port: int | None = None
    """Where it answers to us; ``None``: nowhere."""

    @classmethod
    def of(cls, container: Mapping[str, Any]) -> "Sidecar":
        """The sidecar that this container is."""
        arguments = _arguments(container.get("args") or ())
        return cls(
            image=container.get("image") or "",
            port=port_in(arguments.get("--listen", "").rpartition(":")[2]),
            path=path.replace("$$", "$") if (path := arguments.get("--path")) is not None else None,
            admin_port=next(
                (
                    int(each["containerPort"])
                    for each in container.get("ports") or ()
                    if each.get("name") == ADMIN_PORT_NAME
                ),
                None,
            ),
        )


@dataclass(frozen=True, slots=True)
class Pod:
    """A pod that asks for a gateway's sidecar, or is a replica of its Deployment."""

    key: Key
    uid: str
    gateway: Key
    """The gateway of its own namespace that its label names, existing or not."""
    address: str
    """Its IP address; empty while it has none."""
    running: bool
    """In phase Running, and not being deleted."""
    ready: bool
    finished: bool
    """It will run no more, or is being deleted."""
    sidecar: Sidecar | None
    annotations: Mapping[str, str]
    """Those of our group (``switchyard.dev/``), by their whole name."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "Pod":
        """The pod in an object of the API server."""
        metadata, status = raw["metadata"], raw.get("status") or {}
        container = sidecar_in(metadata, raw.get("spec") or {})
        return cls(
            key=Key(metadata["namespace"], metadata["name"]),
            uid=metadata.get("uid", ""),
            gateway=_gateway_named(metadata),
            address=status.get("podIP", ""),
            running=status.get("phase") == "Running" and "deletionTimestamp" not in metadata,
            ready=any(
                each.get("type") == "Ready" and each.get("status") == "True" for each in status.get("conditions") or ()
            ),
            finished=status.get("phase") in {"Succeeded", "Failed"} or "deletionTimestamp" in metadata,
            sidecar=None if container is None else Sidecar.of(container),
            annotations={
                name: value
                for name, value in (metadata.get("annotations") or {}).items()
                if name.startswith(f"{GROUP}/")
            },
        )

    @property
    def admin_port(self) -> int | None:
        """Where its sidecar answers to us, if it has one that does."""
        return None if self.sidecar is None else self.sidecar.admin_port


@dataclass(frozen=True, slots=True)
class Child:
    """A ConfigMap or Secret that carries, or claims to carry, a gateway's config."""

    gateway: Key
    """The gateway that its name is made for."""
    owner: str
    """The uid of the object that controls it; empty when nothing does."""
    labelled: bool
    """Whether it has all labels that children have, so that the next watch finds it again."""
    deleting: bool
    digest: bytes = field(repr=False)
    """Of what we own in it, as :func:`digest` makes it. Equal digests: nothing to write."""
    revision_key: bytes | None = field(repr=False, default=None)
    """The key of revisions, in a Secret that has a usable one."""
    session_keys: tuple[bytes, ...] = field(repr=False, default=())
    """The keys of sessions, in a Secret that has some."""

    @classmethod
    def of(cls, resource: Resource, raw: Mapping[str, Any]) -> "Child":
        """The child in an object of the API server."""
        metadata, labels = raw["metadata"], raw["metadata"].get("labels") or {}
        gateway = gateway_of(Key(metadata["namespace"], metadata["name"]))
        content = content_of(resource, raw)
        return cls(
            gateway=gateway,
            owner=controller_uid(raw),
            labelled=labels.items() >= {**CHILD_LABELS, GATEWAY_LABEL: gateway.name}.items(),
            deleting="deletionTimestamp" in metadata,
            digest=digest(content),
            revision_key=usable_revision_key(content),
            session_keys=session_keys_in(content),
        )


class Said(NamedTuple):
    """A condition of somebody else's object."""

    status: str = ""
    """``True``, ``False`` or ``Unknown``; empty: there is no such condition."""
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class DeploymentState:
    """How far a Deployment is, in its own words (apps/v1, ``DeploymentStatus``)."""

    current: bool
    """Whether this is about the Deployment as it is now."""
    wanted: int
    total: int
    updated: int
    available: int
    conditions: Mapping[str, Said]
    """By type."""

    @classmethod
    def of(cls, raw: Mapping[str, Any]) -> "DeploymentState":
        """How far the Deployment in an object of the API server is."""
        status = raw.get("status") or {}
        return cls(
            current=status.get("observedGeneration", 0) >= raw["metadata"].get("generation", 0),
            wanted=(raw.get("spec") or {}).get("replicas", 1),
            total=status.get("replicas", 0),
            updated=status.get("updatedReplicas", 0),
            available=status.get("availableReplicas", 0),
            conditions={
                each["type"]: Said(each["status"], each.get("reason", ""), each.get("message", ""))
                for each in status.get("conditions") or ()
            },
        )

    def said(self, kind: str) -> Said:
        """What it says in this condition."""
        return self.conditions.get(kind, Said())


@dataclass(frozen=True, slots=True)
class Workload:
    """A Deployment, or what stands beside it, that belongs, or claims to belong, to a gateway in mode ``Deployment``."""

    gateway: Key
    """The gateway that its name is made for."""
    owner: str
    """The uid of the object that controls it; empty when nothing does."""
    deleting: bool
    digest: bytes = field(repr=False)
    """Of all that anybody decides about it; what changes by itself does not count."""
    state: DeploymentState | None = None
    """Of a Deployment."""

    @classmethod
    def of(cls, resource: Resource, raw: Mapping[str, Any]) -> "Workload":
        """The workload in an object of the API server."""
        metadata = raw["metadata"]
        return cls(
            gateway=gateway_of(Key(metadata["namespace"], metadata["name"])),
            owner=controller_uid(raw),
            deleting="deletionTimestamp" in metadata,
            digest=decided(raw),
            state=DeploymentState.of(raw) if resource == DEPLOYMENTS else None,
        )


def decided(raw: Mapping[str, Any]) -> bytes:
    """Equal for two states of an object between which nobody has decided anything: but for status and bookkeeping they are equal."""
    bookkeeping = {"managedFields", "resourceVersion", "generation"}
    metadata = {name: value for name, value in raw["metadata"].items() if name not in bookkeeping}
    tree = {"metadata": metadata, "spec": raw.get("spec")}
    return hashlib.sha256(msgspec.json.encode(tree, order="deterministic")).digest()


def sidecar_in(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Our sidecar among a pod's containers, native (an init container) or not.

    Its name alone proves nothing: an agent's own container may be called so. With ours, the pod says which format it reads, as the webhook sees
    to, or has the gateway's config among its volumes, as whoever writes it by hand does.
    """
    if CONFIG_FORMAT not in (metadata.get("annotations") or {}) and not _has_config(metadata, spec):
        return None
    return next((each for each in containers_of(spec) if each.get("name") == SIDECAR), None)


def _has_config(metadata: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    config_map = child_key(_gateway_named(metadata)).name
    return any(
        (source.get("configMap") or {}).get("name") == config_map
        for volume in spec.get("volumes") or ()
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ()))
    )


def _gateway_named(metadata: Mapping[str, Any]) -> Key:
    labels = metadata.get("labels") or {}
    return Key(metadata.get("namespace", ""), labels.get(GATEWAY_OF_POD) or labels.get(DEPLOYMENT_OF, ""))


def _arguments(words: Iterable[str]) -> dict[str, str]:
    """Options with their values, in either form: ``--a b``, ``--a=b``."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        option, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            found[option] = value
        elif name:
            found[name] = word
        name = word if word.startswith("--") and not equals else ""
    return found


def controller_uid(raw: Mapping[str, Any]) -> str:
    """The uid of the object's controlling owner; empty when there is none."""
    for owner in raw["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner.get("uid", ""))
    return ""


def content_of(resource: Resource, raw: Mapping[str, Any]) -> dict[str, bytes]:
    """The files in a child that are ours; a config is found under its plain name, however it is stored.

    Ours is what the API server's ``managedFields`` say we applied. What others added is left out, since an apply of ours would
    not remove it; so is what others have overwritten, so that it looks like a difference and is put right.
    """
    ours = applied(raw)
    files = {name: base64.b64decode(text) for name, text in _members(raw, "binaryData", ours)}
    if resource == SECRETS:
        files |= {name: base64.b64decode(text) for name, text in _members(raw, "data", ours)}
    else:
        files |= {name: text.encode() for name, text in _members(raw, "data", ours)}
    compressed = files.pop(COMPRESSED_CONFIG_FILE, None)
    return files if compressed is None else {CONFIG_FILE: _decompressed(compressed)} | files


def digest(files: Mapping[str, bytes]) -> bytes:
    """Equal for equal files, and for no others."""
    total = hashlib.sha256()
    for name in sorted(files):
        total.update(f"{name}\0{len(files[name])}\0".encode())
        total.update(files[name])
    return total.digest()


def usable_revision_key(files: Mapping[str, bytes]) -> bytes | None:
    """The key of revisions among the files of a Secret, unless it is absent or has been tampered with."""
    key = files.get(CREDENTIAL_KEY_FILE)
    return key if key is not None and len(key) == REVISION_KEY_BYTES else None


def applied(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """The fields that we applied, in the form of ``FieldsV1``: ``{"f:data": {"f:gateway.json": {}}}``."""
    for entry in raw["metadata"].get("managedFields") or ():
        if (entry.get("manager"), entry.get("operation")) == (FIELD_MANAGER, "Apply") and not entry.get("subresource"):
            fields: Mapping[str, Any] = entry.get("fieldsV1") or {}
            return fields
    return {}


def _members(raw: Mapping[str, Any], field_: str, ours: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    owned = ours.get(f"f:{field_}") or {}
    for name, text in (raw.get(field_) or {}).items():
        if f"f:{name}" in owned:
            yield name, text


def _decompressed(compressed: bytes) -> bytes:
    try:
        return gzip.GzipFile(fileobj=io.BytesIO(compressed)).read(MAX_CONFIG_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return b""
