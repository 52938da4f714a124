"""The Service of a gateway that runs as a Deployment."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from switchyard_operator.api.model import ApiModel
from switchyard_operator.api.names import LabelKey
from switchyard_operator.api.scalars import Text

AnnotationValue = Annotated[str, Text(r"(.|[\r\n])*", 4096, "text")]


class GatewayService(ApiModel):
    """The Service in front of the replicas in mode `Deployment`, called `switchyard-` and the gateway's name."""

    type: Literal["ClusterIP", "LoadBalancer"] = "ClusterIP"
    """`ClusterIP`: reached within the cluster. `LoadBalancer`: from outside too: without `auth` by everyone whom the
    network lets through, which is reported (`OpenToEveryone`). Default `ClusterIP`."""
    port: Annotated[int, Field(strict=True, ge=1, le=65535)] | None = None
    """Its port. Default: `listener.port`. From 1 to 65535."""
    annotations: Annotated[Mapping[LabelKey, AnnotationValue], Field(max_length=32)] = {}
    """Annotations for it, such as those by which clouds make load balancers. What others annotate is left alone. At most 32, of at most
    4096 characters. An object with a key that no annotation can have is not accepted."""
