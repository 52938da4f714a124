"""Atheris (libFuzzer for Python) on whatever reads bytes from outside: ``python long_run.py TARGET [libFuzzer's arguments]``.

A finding is an exception that is none of those a reader may raise. Not part of any test run: see the README.
"""

import contextlib
import json
import sys
from collections.abc import Callable

import atheris

with atheris.instrument_imports(include=["switchyard_sidecar"]):
    from switchyard_sidecar.catalog import listing
    from switchyard_sidecar.catalog.definition import ToolDefinition, parse_tool
    from switchyard_sidecar.catalog.listing import MalformedListError
    from switchyard_sidecar.downstream.results import project_result
    from switchyard_sidecar.protocol import cursor, header_values, jsonrpc, sse
    from switchyard_sidecar.protocol.errors import McpError
    from switchyard_sidecar.protocol.versions import Era

MAX_BYTES = 1024 * 1024


def _sse(data: bytes) -> None:
    size = 1 + data[0] % 16 if data else 1
    whole, cut = sse.Decoder(MAX_BYTES), sse.Decoder(MAX_BYTES)
    pieces = [event for start in range(1, len(data), size) for event in cut.feed(data[start : start + size])]
    assert whole.feed(data[1:]) == pieces


def _jsonrpc(data: bytes) -> None:
    message = jsonrpc.decode(data)
    if message.params is not None:
        json.loads(message.params)
        jsonrpc.members(message.params)


def _definition(data: bytes) -> None:
    tool = parse_tool(data, max_bytes=MAX_BYTES)
    if isinstance(tool, ToolDefinition):
        for era in Era:
            json.loads(tool.rendered("exposed", "title", era=era))


def _listing(data: bytes) -> None:
    for entry in listing.split_tools_result(data, 1_000).tools:
        parse_tool(entry, max_bytes=MAX_BYTES)


def _result(data: bytes) -> None:
    project_result(data, backend=Era.LEGACY, caller=Era.MODERN, server_info=b"{}")
    project_result(data, backend=Era.MODERN, caller=Era.LEGACY, server_info=b"{}")


def _texts(data: bytes) -> None:
    text = data.decode("latin-1")
    for read in (header_values.decode, cursor.decode):
        with contextlib.suppress(McpError):
            read(text)


TARGETS: dict[str, Callable[[bytes], None]] = {
    "sse": _sse,
    "jsonrpc": _jsonrpc,
    "definition": _definition,
    "listing": _listing,
    "result": _result,
    "texts": _texts,
}


def main() -> None:
    """Fuzz the target that is named."""
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        with contextlib.suppress(McpError, MalformedListError):
            target(data)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
