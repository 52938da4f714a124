"""Who signs in for the Python clients: what an SDK's OAuth client asks of its application, the same for both generations."""

import asyncio
import http.client
from typing import Any
from urllib.parse import parse_qsl, urlsplit

REDIRECT_URI = "http://127.0.0.1/callback"
"""Nobody listens there: the browser stops where it is sent back to the application."""


class Browser:
    """Opens an authorization server's page, which needs nobody to type, and keeps what it was sent back with."""

    def __init__(self) -> None:
        self.said: dict[str, str] = {}

    async def open(self, url: str) -> None:
        location = await asyncio.to_thread(_redirected, url)
        self.said = dict(parse_qsl(urlsplit(location).query))


class Memory:
    """Keeps tokens and the client's registration, as long as the program runs."""

    def __init__(self) -> None:
        self._tokens: Any = None
        self._client: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return self._client

    async def set_client_info(self, client_info: Any) -> None:
        self._client = client_info


def _redirected(url: str) -> str:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.netloc, timeout=20)
    try:
        connection.request("GET", f"{place.path}?{place.query}")
        location = connection.getresponse().getheader("Location")
    finally:
        connection.close()
    if location is None:
        raise ConnectionError("nobody is sent back from there")
    return location
