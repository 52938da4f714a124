"""Whether a gateway may use a backend of another namespace. The backend's owner consents; unknown means no."""

from switchyard_operator.api.backend import MCPBackend
from switchyard_operator.api.resource import Key
from switchyard_operator.compile.objects import Objects


def admits(backend: MCPBackend, namespace: str, objects: Objects) -> bool:
    """Whether gateways of ``namespace`` may use the backend."""
    allowed = backend.spec.allowed_namespaces
    if namespace == backend.metadata.namespace or allowed.from_ == "All":
        return True
    known = objects.namespaces.get(namespace)
    return allowed.selector is not None and known is not None and allowed.selector.matches(known.labels)


def not_found(backend: Key, namespace: str) -> str:
    """Says to ``namespace`` that there is no such backend for it."""
    message = f"there is no MCPBackend {backend}"
    if backend.namespace == namespace:
        return message
    # The same words whether it is absent or not permitted: one must not learn here what exists elsewhere.
    return f"{message} that admits namespace {namespace} (spec.allowedNamespaces of the backend)"


def labels_unknown(backend: MCPBackend, namespace: str, objects: Objects) -> bool:
    """Whether the answer is no only because nothing is known of the namespace's labels."""
    foreign = namespace != backend.metadata.namespace
    return foreign and backend.spec.allowed_namespaces.from_ == "Selector" and namespace not in objects.namespaces


def withholds_credentials(backend: MCPBackend, namespace: str) -> bool:
    """Whether the backend has credentials that may not travel to ``namespace``."""
    if namespace == backend.metadata.namespace or backend.spec.allowed_namespaces.credentials == "Share":
        return False
    return (
        backend.spec.auth.secret_key_ref is not None
        or backend.spec.tls.client_certificate_ref is not None
        or any(header.value_from is not None for header in backend.spec.headers)
    )
