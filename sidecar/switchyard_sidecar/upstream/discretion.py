"""What a backend says of a failure, without the credentials that it was asked with. Pure.

A server that will not have a token often says which one, and what it says goes on to the caller, who may use the backend and
must not get to know its credential. So errors, results that are errors, and what is said beside a result go without. Anything
else is the backend's data, and is carried as it was written; nor does this stop a backend that means to give a credential away.
"""

import json
from collections.abc import Mapping
from typing import Final

import msgspec
from msgspec import Raw

from switchyard_sidecar.config.model import Backend, Credential
from switchyard_sidecar.protocol.errors import McpError
from switchyard_sidecar.upstream.calls import CallSink
from switchyard_sidecar.upstream.forwarded import ForwardedToken

HIDDEN: Final = "[redacted]"
LEAST_CHARACTERS: Final = 8
"""A shorter credential is not looked for: it could be any word."""


class _Outcome(msgspec.Struct, rename="camel"):
    is_error: bool = False


class Discretion:
    """Knows the credentials of one backend: those of its headers, and its caller's own where that is what it gets."""

    def __init__(self, config: Backend, credentials: Mapping[str, bytes], token: ForwardedToken | None) -> None:
        named = [header.credential for header in config.headers] + [config.auth.credential]
        self._fixed = _words(*(_text(each, credentials) for each in named if each is not None))
        self._token = token

    def about(self, error: McpError) -> McpError:
        """An error of the backend's, fit for its caller."""
        message, data = error.message, error.data
        for secret in self._secrets():
            message = message.replace(secret, HIDDEN)
        if isinstance(data, Raw):
            data = Raw(self.beside(bytes(data)))
        if message == error.message and data == error.data:
            return error
        return McpError(error.code, message, data, status=error.status)

    def within(self, result: bytes) -> bytes:
        """A result, fit for its caller: another one only if it says that it is an error."""
        discreet = self.beside(result)
        if discreet == result:
            return result
        try:
            return discreet if msgspec.json.decode(result, type=_Outcome).is_error else result
        except msgspec.DecodeError:  # what only strict parsers refuse
            return result

    def beside(self, text: bytes) -> bytes:
        """JSON text that is no result, fit for its caller."""
        for secret in self._secrets():
            written = json.dumps(secret, ensure_ascii=False)[1:-1]
            for form in (written, written.replace("/", "\\/")):
                text = text.replace(form.encode(), HIDDEN.encode())
        return text

    def _secrets(self) -> list[str]:
        return self._fixed if self._token is None else _words(*self._fixed, self._token.header)


class DiscreetSink:
    """Passes on what a backend says during a call. Implements :class:`switchyard_sidecar.upstream.calls.CallSink`."""

    __slots__ = ("_discretion", "_sink")

    def __init__(self, sink: CallSink, discretion: Discretion) -> None:
        self._sink = sink
        self._discretion = discretion

    async def notify(self, method: str, params: bytes) -> None:
        """Pass a notification on."""
        await self._sink.notify(method, self._discretion.beside(params))


def _words(*values: str) -> list[str]:
    """Headers' values, and what stands in them beside a scheme (RFC 9110, section 11.4); longest first, as one may be part of another."""
    words = {each for value in values for each in (value, *value.split()) if len(each) >= LEAST_CHARACTERS}
    return sorted(words, key=len, reverse=True)


def _text(credential: Credential, credentials: Mapping[str, bytes]) -> str:
    return credentials.get(credential.file, b"").decode(errors="replace").strip()
