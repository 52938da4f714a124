"""Weather, on the Python SDK 2.x: speaks MCP 2026-07-28 (and older, to whoever asks)."""

from typing import Annotated, Literal

from hosting import serve
from mcp.server.mcpserver import MCPServer
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

mcp = MCPServer("weather", version="3.2.0", title="Weather service")
READ_ONLY = ToolAnnotations(read_only_hint=True)


class Forecast(BaseModel):
    city: str
    celsius: float
    sky: Literal["clear", "cloudy", "rain", "snow"]


@mcp.tool(title="Forecast for a city", annotations=READ_ONLY)
def forecast(city: str, days_ahead: Annotated[int, Field(ge=0, le=10)] = 0) -> Forecast:
    """Temperature and sky, up to ten days ahead."""
    seed = sum(map(ord, city)) + days_ahead
    return Forecast(city=city, celsius=float(seed % 35) - 5.0, sky=("clear", "cloudy", "rain")[seed % 3])


@mcp.tool(title="Severe weather alerts", annotations=READ_ONLY)
def alerts(region: str) -> list[str]:
    """Alerts in force for a region."""
    return [f"Strong wind along the coast of {region}"]


@mcp.tool(title="Air quality", annotations=READ_ONLY)
def air_quality(city: str) -> dict[str, int]:
    """Index of fine dust and ozone, 0 (good) to 500."""
    return {"pm25": len(city) * 3, "ozone": len(city) * 5}


if __name__ == "__main__":
    serve(mcp.streamable_http_app())
