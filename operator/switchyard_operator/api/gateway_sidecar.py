"""The sidecar, injected into a gateway's pods or run as its Deployment: what a gateway may say of its container."""

import re
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Final, Literal, Self

from pydantic import Field, GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from switchyard_operator.api.merging import KeyedBy
from switchyard_operator.api.model import ApiModel, Breach
from switchyard_operator.api.names import ObjectName
from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Measure, Quantity, Text, Within

Image = Annotated[
    str,
    Text(r"[A-Za-z0-9][A-Za-z0-9._/:@+-]*", 512, "an image such as registry.example/switchyard-sidecar:0.1.0"),
]

_CORES: Final = re.compile(r"([0-9]{1,9}(\.[0-9]{1,3})?|[0-9]{1,9}m)")


class Cores(Measure):
    """An amount of CPU: a number of cores, or of thousandths of one (``2``, ``0.5``, ``100m``)."""

    __slots__ = ()

    @property
    def amount(self) -> Fraction:
        """Cores."""
        return Fraction(self[:-1]) / 1000 if self.endswith("m") else Fraction(self)

    @classmethod
    def at_least(cls, amount: str, least: str) -> str:
        """As for other quantities."""
        return Quantity.at_least(amount, least)

    @classmethod
    def parse(cls, value: object) -> Self:
        """Accept a whole number or a string, as ``x-kubernetes-int-or-string`` does."""
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not _CORES.fullmatch(text):
            raise PydanticCustomError("cores", 'must be a number of cores such as 100m, 2 or "0.5"')
        return cls(text)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": True,
            "pattern": f"^{_CORES.pattern}$",
            "maxLength": 32,
        }


Cpu = Annotated[Cores, Within(Cores("1m"), Cores("64"))]
Memory = Annotated[Quantity, Within(Quantity("32Mi"), Quantity("64Gi"))]


class Amounts(ApiModel):
    """An amount of each resource."""

    cpu: Cpu | None = None
    """Cores, such as `100m` or `2`; a fraction in quotes. From 1m to 64. Default: none."""
    memory: Memory | None = None
    """Bytes, such as `128Mi`. From 32Mi to 64Gi. Default: none."""


class Resources(ApiModel):
    """What the container asks for and what it may use at most."""

    requests: Amounts = Amounts()
    """What is set aside for it."""
    limits: Amounts = Amounts()
    """What it may use at most."""

    rules = tuple(
        Rule(
            f"!has(self.requests.{name}) || !has(self.limits.{name}) || "
            + kind.at_least(f"self.limits.{name}", f"self.requests.{name}"),
            "is less than what is requested",
            f"limits.{name}",
        )
        for name, kind in (("cpu", Cores), ("memory", Quantity))
    )

    def breaches(self) -> Iterator[Breach]:
        """A limit is not below its request."""
        for name in ("cpu", "memory"):
            request, limit = getattr(self.requests, name), getattr(self.limits, name)
            if request is not None and limit is not None and limit.amount < request.amount:
                yield Breach(("limits", name), "is less than what is requested")


class PullSecret(ApiModel):
    """A Secret with credentials for a registry."""

    name: ObjectName
    """Its name, in the pod's namespace, at most 253 characters. When it does not exist, Kubernetes goes without."""


class Sidecar(ApiModel):
    """The container that serves this gateway. A change reaches a pod when it is created anew; those of a Deployment are."""

    image: Image | None = None
    """Its image. Default: what the installation says. At most 512 characters. Pods whose sidecar has another image are counted as
    outdated."""
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    """When the image is pulled: `Always`, `IfNotPresent` or `Never`. Default: what the installation says, else Kubernetes decides by
    the image's tag."""
    image_pull_secrets: Annotated[tuple[PullSecret, ...], Field(max_length=8), KeyedBy("name")] = ()
    """Secrets for the image's registry, added to those of the pod and of the installation. At most 8, each once."""
    resources: Resources | None = None
    """Requests and limits, taken as a whole. Default: what the installation says, and none for an agent's pod whose containers have none. Where all
    containers of a pod request exactly their limits, the sidecar does too, so that the pod keeps its class (`Guaranteed`): it then
    requests its limit, and is limited to its request where it has no limit."""
    admin_port: Annotated[int, Field(strict=True, ge=1, le=65535)] = 8812
    """The port for probes, metrics and what the operator asks. Default 8812, from 1 to 65535, another than `listener.port`."""
