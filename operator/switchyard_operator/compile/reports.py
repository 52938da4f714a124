"""What compiling has to say about an object: typed, so that the CLI can print it and the operator can make conditions of it."""

from dataclasses import dataclass
from enum import StrEnum

from switchyard_operator.api.fields import FieldPath, dotted
from switchyard_operator.api.resource import Ref


class Severity(StrEnum):
    """How much it costs."""

    ERROR = "Error"
    """Something that was asked for is left out."""
    WARNING = "Warning"
    """Everything is served, but perhaps not as it was meant."""
    NOTE = "Note"
    """Worth knowing, nothing to correct."""


class Reason(StrEnum):
    """Why, in one word that programs can rely on."""

    # A reference of a gateway
    BACKEND_NOT_FOUND = "BackendNotFound"
    """The backend does not exist or does not admit the namespace; which of the two is not said."""
    BACKEND_NOT_RESOLVED = "BackendNotResolved"
    """The backend is there, and has a fault of its own."""
    CREDENTIALS_WITHHELD = "CredentialsWithheld"
    DUPLICATE_BACKEND = "DuplicateBackend"
    SELECTOR_TOO_BROAD = "SelectorTooBroad"
    NAMESPACE_UNKNOWN = "NamespaceUnknown"

    # A reference of a backend
    SECRET_NOT_FOUND = "SecretNotFound"  # noqa: S105 - a word, not a secret
    SECRET_KEY_NOT_FOUND = "SecretKeyNotFound"  # noqa: S105
    SECRET_NOT_LABELLED = "SecretNotLabelled"  # noqa: S105
    CONFIG_MAP_NOT_FOUND = "ConfigMapNotFound"
    CONFIG_MAP_KEY_NOT_FOUND = "ConfigMapKeyNotFound"
    INVALID_CREDENTIAL = "InvalidCredential"
    INVALID_CERTIFICATE = "InvalidCertificate"

    # Who may use a gateway
    ISSUER_UNKNOWN = "IssuerUnknown"
    NO_USABLE_KEY = "NoUsableKey"
    DUPLICATE_ISSUER = "DuplicateIssuer"
    FORWARD_WITHOUT_AUDIENCE = "ForwardWithoutAudience"
    OPEN_TO_EVERYONE = "OpenToEveryone"

    # An alias
    ALIAS_CONFLICT = "AliasConflict"
    GATEWAY_NOT_FOUND = "GatewayNotFound"
    NO_GATEWAY = "NoGateway"
    TOOL_NOT_LISTED = "ToolNotListed"
    """Whoever has looked at the backend's list has not found the tool in it. It may still come."""

    # Naming
    SHARED_NAMES = "SharedNames"

    # What a later release will do
    NOT_YET_EFFECTIVE = "NotYetEffective"

    # Where it runs
    WITHOUT_EFFECT = "WithoutEffect"
    """The field belongs to another mode than the gateway's."""
    SERVICE_IN_CLUSTER_ONLY = "ServiceInClusterOnly"


@dataclass(frozen=True, slots=True)
class Report:
    """One finding about one field of one object. Never contains a secret."""

    severity: Severity
    object: Ref
    field: FieldPath
    """The field to look at, from the object's root; empty: the object as a whole."""
    reason: Reason
    message: str
    """A sentence that says what is the case and what to do."""

    def __str__(self) -> str:
        where = f"{self.object}: {dotted(self.field)}" if self.field else str(self.object)
        return f"{where}: {self.message} [{self.reason}]"
