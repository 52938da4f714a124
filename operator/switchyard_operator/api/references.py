"""References to Secrets and ConfigMaps. All of them are local: the object lies in the namespace of what refers to it."""

from typing import Literal

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import DataKey, ObjectName


class SecretKeyRef(ApiModel):
    """One key of a Secret of the same namespace."""

    name: ObjectName
    """The Secret's name, at most 253 characters. When it does not exist, what needs it is left out (`SecretNotFound`) and the rest is
    served; in a cluster it must carry the label `switchyard.dev/credential: "true"` (else `SecretNotLabelled`)."""
    key: DataKey
    """The key within the Secret, at most 253 characters. When it is missing, what needs it is left out (`SecretKeyNotFound`)."""

    atomic = True


class CaRef(ApiModel):
    """A bundle of CA certificates (PEM) of the same namespace."""

    kind: Literal["ConfigMap", "Secret"] = "ConfigMap"
    """Where the bundle is kept: a `ConfigMap` or a `Secret`. Default `ConfigMap`."""
    name: ObjectName
    """The object's name, at most 253 characters. When it does not exist, what needs it is left out: a CA that is asked for is never
    ignored."""
    key: DataKey = "ca.crt"
    """The key within the object, at most 253 characters. Default `ca.crt`. What is not PEM certificates is refused (`InvalidCertificate`)."""

    atomic = True


class ClientCertificateRef(ApiModel):
    """A Secret of type `kubernetes.io/tls` of the same namespace."""

    name: ObjectName
    """The Secret's name, at most 253 characters; its keys `tls.crt` (the chain) and `tls.key` (not encrypted) are used."""

    atomic = True
