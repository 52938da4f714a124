"""Which of the two media types of MCP a request's ``Accept`` allows.

The specification obliges clients to list both; real ones send one, a wildcard, or nothing, and are answered all the same
(RFC 9110, 12.5.1: the most specific range decides, ``q=0`` refuses, absence allows everything).
"""

from dataclasses import dataclass

from switchyard_sidecar.protocol.names import EVENT_STREAM, JSON


@dataclass(frozen=True, slots=True)
class Accepted:
    """What may be answered. Neither: 406."""

    json: bool
    event_stream: bool


def parse(header: str | None) -> Accepted:
    """Read ``Accept`` (several fields joined by commas). What is no media range is skipped; if none is left, all goes."""
    allowed: dict[str, bool] = {}
    for element in (header or "").lower().split(","):
        media_range, *parameters = (part.strip() for part in element.split(";"))
        if media_range == "*":  # an old Java habit
            media_range = "*/*"
        if "/" in media_range:
            allowed[media_range] = allowed.get(media_range, False) or not any(map(_is_zero, parameters))
    return Accepted(json=_allows(allowed, JSON), event_stream=_allows(allowed, EVENT_STREAM))


def _allows(allowed: dict[str, bool], media_type: str) -> bool:
    main_type = media_type.partition("/")[0]
    ranges = (media_type, f"{main_type}/*", "*/*")
    return next((allowed[each] for each in ranges if each in allowed), not allowed)


def _is_zero(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    try:
        return name.strip() == "q" and float(value) == 0
    except ValueError:
        return False
