"""What every object has: API version, kind, metadata; and how one object is named in messages and lookups."""

from collections.abc import Mapping
from typing import Any, Final, Literal, NamedTuple

from pydantic import AwareDatetime, ConfigDict

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import DnsLabel, ObjectName

GROUP: Final = "switchyard.dev"
API_VERSION: Final = "switchyard.dev/v1alpha1"
DEFAULT_NAMESPACE: Final = "default"

NAMESPACE_LABEL: Final = "kubernetes.io/metadata.name"
"""The label that every namespace carries with its own name."""
CREDENTIAL_LABEL: Final = "switchyard.dev/credential"
"""The label (value ``true``) by which a Secret's owner lets the operator see it."""


class Key(NamedTuple):
    """An object's place within its kind."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


class Ref(NamedTuple):
    """One object, as messages name it."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class Metadata(ApiModel):
    """The part of Kubernetes' object metadata that matters here; the rest is Kubernetes' business and passes unread."""

    model_config = ConfigDict(extra="ignore")

    name: ObjectName
    """The object's name, at most 253 characters."""
    namespace: DnsLabel = DEFAULT_NAMESPACE
    """The object's namespace. Default `default`."""
    labels: Mapping[str, str] = {}
    """Labels, for selectors."""
    creation_timestamp: AwareDatetime | None = None
    """Set by the API server; absent in files. The older of two aliases for one name wins."""


class Resource(ApiModel):
    """An object of this API group. Each kind adds ``kind`` and ``spec``, and narrows ``metadata`` to its own name."""

    api_version: Literal["switchyard.dev/v1alpha1"]
    """`switchyard.dev/v1alpha1`."""
    metadata: Metadata
    """Standard object metadata."""
    status: Any = None
    """Written by the operator; ignored where users write it."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return Key(self.metadata.namespace, self.metadata.name)
