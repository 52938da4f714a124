"""The company wiki, on FastMCP 4.x."""

from fastmcp import FastMCP
from hosting import serve

mcp = FastMCP("wiki", version="0.9.1")
PAGES = {
    "onboarding": "Welcome! Your first day starts with coffee.",
    "incident-response": "1. Breathe. 2. Declare. 3. Mitigate. 4. Write it down.",
    "vacation": "Take some.",
}


@mcp.tool(title="Search the wiki", annotations={"readOnlyHint": True})
def search(words: str) -> list[str]:
    """Names of pages that mention the words."""
    return [name for name, text in PAGES.items() if words.lower() in f"{name} {text}".lower()]


@mcp.tool(title="Read a wiki page", annotations={"readOnlyHint": True})
def read_page(name: str) -> str:
    """The text of a page."""
    return PAGES[name]


if __name__ == "__main__":
    serve(mcp.http_app())
