"""The token of a request: in one Authorization header, and nowhere else (RFC 6750, section 2; MCP, "Access Token Usage"). Pure."""

import re
from typing import Final
from urllib.parse import parse_qsl

from multidict import MultiMapping

from switchyard_sidecar.access.refusals import invalid_token, malformed_request

MAX_TOKEN_BYTES: Final = 16 * 1024
"""A longer token is refused unread."""
MAX_QUERY_PARAMETERS: Final = 100
"""A query with more is refused, since nothing in it is wanted anyway."""

_VISIBLE: Final = re.compile(r"[!-~]+")


def bearer_token(headers: MultiMapping[str], query: str) -> str | None:
    """The token that is presented; ``None`` where none is, or credentials of another kind.

    ``query``: of the request's target, as it was written.

    Raises:
        Denied: a token stands in the query, where logs would keep it; there are several Authorization headers; or what
            stands in the one can be no token.
    """
    if query and _names_a_token(query):
        raise malformed_request("A token must not stand in the query string; send it in the Authorization header")
    lines = headers.getall("Authorization", ())
    if not lines:
        return None
    if len(lines) > 1:
        raise malformed_request("There is more than one Authorization header")
    scheme, _, token = lines[0].strip().partition(" ")
    token = token.strip()
    if scheme.lower() != "bearer" or not token:
        return None
    if len(token) > MAX_TOKEN_BYTES or not _VISIBLE.fullmatch(token):
        raise invalid_token("The token is too long, or has characters that no token has")
    return token


def _names_a_token(query: str) -> bool:
    try:
        parameters = parse_qsl(query, keep_blank_values=True, max_num_fields=MAX_QUERY_PARAMETERS)
    except ValueError:
        return True
    return any(name.lower() == "access_token" for name, _ in parameters)
