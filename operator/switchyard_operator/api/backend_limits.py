"""How long a backend is waited for, how long its list is believed, and what the list may cost."""

from collections.abc import Iterator
from typing import Annotated

from pydantic import Field

from switchyard_operator.api.model import ApiModel, Breach
from switchyard_operator.api.rules import Rule
from switchyard_operator.api.scalars import Duration, Quantity, Within


class Timeouts(ApiModel):
    """How long to wait for a backend."""

    connect: Annotated[Duration, Within(Duration("1ms"), Duration("1m"))] = Duration("2s")
    """To open a connection. Default `2s`, from 1ms to 1m."""
    listing: Annotated[Duration, Within(Duration("1ms"), Duration("5m")), Field(alias="list")] = Duration("5s")
    """What a client's tools/list waits for this backend before the last good answer is served. Default `5s`, from 1ms to 5m."""
    call: Annotated[Duration, Within(Duration("1ms"), Duration("24h"))] = Duration("60s")
    """How long a tool call may be silent; progress starts it anew. Default `60s`, from 1ms to 24h."""
    call_max: Annotated[Duration, Within(Duration("1ms"), Duration("24h"))] = Duration("10m")
    """How long a tool call may take altogether. Default `10m`, from 1ms to 24h, and not less than `call`."""

    rules = (
        Rule(
            Duration.at_least("self.callMax", "self.call"), "is less than call; raise callMax or lower call", "callMax"
        ),
    )

    def breaches(self) -> Iterator[Breach]:
        """The whole is not shorter than a part."""
        if self.call_max.ms < self.call.ms:
            yield Breach(
                ("callMax",), f"({self.call_max}) is less than call ({self.call}); raise callMax or lower call"
            )


class Cache(ApiModel):
    """How long a backend's list is believed before it is read again.

    Notifications of the backend are followed whatever stands here.
    """

    min_ttl: Annotated[Duration, Within(Duration("0s"), Duration("24h")), Field(alias="minTTL")] = Duration("0s")
    """The least, whatever the backend says. Default `0s`, at most 24h."""
    max_ttl: Annotated[Duration, Within(Duration("0s"), Duration("24h")), Field(alias="maxTTL")] = Duration("10m")
    """The most, whatever the backend says. Default `10m`, at most 24h, and not less than `minTTL`."""
    default_ttl: Annotated[Duration, Within(Duration("0s"), Duration("24h")), Field(alias="defaultTTL")] = Duration(
        "30s"
    )
    """For a legacy backend, which does not say. Default `30s`, at most 24h."""

    rules = (Rule(Duration.at_least("self.maxTTL", "self.minTTL"), "is less than minTTL", "maxTTL"),)

    def breaches(self) -> Iterator[Breach]:
        """Bounds are in order."""
        if self.max_ttl.ms < self.min_ttl.ms:
            yield Breach(("maxTTL",), f"({self.max_ttl}) is less than minTTL ({self.min_ttl})")


class Limits(ApiModel):
    """What one reading of a backend's list may cost. What exceeds a limit is cut off and reported; the rest is served."""

    pages: Annotated[int, Field(strict=True, ge=1, le=10_000)] = 1_000
    """Pages of the list. Default 1000, from 1 to 10000."""
    tools: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 20_000
    """Tools in the list. Default 20000, from 1 to 100000."""
    total_bytes: Annotated[Quantity, Within(Quantity("1Ki"), Quantity("1Gi")), Field(alias="bytes")] = Quantity("64Mi")
    """All pages together. Default `64Mi`, from 1Ki to 1Gi."""
    tool_bytes: Annotated[Quantity, Within(Quantity("1Ki"), Quantity("64Mi"))] = Quantity("1Mi")
    """One tool's definition. Default `1Mi`, from 1Ki to 64Mi, and not more than `bytes`."""

    rules = (Rule(Quantity.at_least("self.bytes", "self.toolBytes"), "is more than bytes", "toolBytes"),)

    def breaches(self) -> Iterator[Breach]:
        """A part is not larger than the whole."""
        if self.tool_bytes.amount > self.total_bytes.amount:
            yield Breach(("toolBytes",), f"({self.tool_bytes}) is more than bytes ({self.total_bytes})")
