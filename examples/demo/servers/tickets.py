"""Support tickets, on the Python SDK 1.x: speaks MCP 2025-11-25, with a session for each client."""

from itertools import count

from hosting import serve
from mcp.server.fastmcp import FastMCP

mcp = FastMCP("tickets")
numbers = count(1041)
tickets: dict[int, str] = {1040: "The printer on the second floor is on fire"}


@mcp.tool(title="Open a ticket")
def open_ticket(summary: str, urgent: bool = False) -> int:
    """Returns the number of the new ticket."""
    number = next(numbers)
    tickets[number] = f"{'URGENT: ' if urgent else ''}{summary}"
    return number


@mcp.tool(title="Search tickets")
def search(words: str) -> dict[int, str]:
    """Tickets whose summary contains the words."""
    return {number: text for number, text in tickets.items() if words.lower() in text.lower()}


@mcp.tool(title="Close a ticket")
def close_ticket(number: int) -> str:
    """Closes a ticket for good."""
    return f"Closed: {tickets.pop(number)}"


if __name__ == "__main__":
    serve(mcp.streamable_http_app())
