"""Atheris (libFuzzer for Python) on whatever reads bytes from outside: ``python long_run.py TARGET [libFuzzer's arguments]``.

A finding is an exception that is none of those a reader may raise. Not part of any test run: see the README.
"""

import contextlib
import json
import sys
from collections.abc import Callable

import atheris
from multidict import CIMultiDict

with atheris.instrument_imports(include=["switchyard_sidecar", "switchyard_operator", "jwt"]):
    from switchyard_operator.injection.review import NotAReview, answer, judge, request_in
    from switchyard_operator.manifests.load import load
    from switchyard_operator.manifests.sources import Source
    from switchyard_operator.workloads.settings import Installation
    from switchyard_sidecar.access import tokens
    from switchyard_sidecar.access.bearer import bearer_token
    from switchyard_sidecar.access.keys import KeySet
    from switchyard_sidecar.access.refusals import KeySetError
    from switchyard_sidecar.access.rules import Rules
    from switchyard_sidecar.catalog import listing
    from switchyard_sidecar.catalog.definition import ToolDefinition, parse_tool
    from switchyard_sidecar.catalog.listing import MalformedListError
    from switchyard_sidecar.config.model import SIGNATURE_ALGORITHMS, Visibility
    from switchyard_sidecar.downstream.results import project_result
    from switchyard_sidecar.protocol import cursor, header_values, jsonrpc, sse
    from switchyard_sidecar.protocol.errors import McpError
    from switchyard_sidecar.protocol.versions import Era

MAX_BYTES = 1024 * 1024
INSTALLATION = Installation(image="registry.example/sidecar:1")
RULES = Rules.of(
    Visibility.model_validate(
        {
            "rules": [
                {"when": [{"claim": "/a/0/b", "anyOf": ["1", "x"]}, {"claim": "scope", "noneOf": ["x"]}]},
                {"when": [{"claim": "groups", "anyOf": ["a"]}]},
            ]
        }
    )
)


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


def _token(data: bytes) -> None:
    text = data.decode("latin-1")
    bearer_token(CIMultiDict([("Authorization", f"Bearer {text}")]), text)
    tokens.read(text)


def _keys(data: bytes) -> None:
    for key in KeySet.of(data, sorted(SIGNATURE_ALGORITHMS)).find(None, "ES256"):
        assert key.jwk.algorithm_name == "ES256"


def _claims(data: bytes) -> None:
    claims = None
    with contextlib.suppress(ValueError, RecursionError):  # what is no JSON is no claims
        claims = json.loads(data)
    if isinstance(claims, dict):
        assert RULES.outcome(claims) in {0, 1, 2}


def _manifest(data: bytes) -> None:
    for fault in load([Source("a.yaml", data)]).faults:
        assert str(fault).isprintable()


def _review(data: bytes) -> None:
    request = request_in(data)
    decision, _ = judge(request, lambda _: None, INSTALLATION)
    assert answer(request, decision)["response"]["allowed"]


TARGETS: dict[str, Callable[[bytes], None]] = {
    "sse": _sse,
    "jsonrpc": _jsonrpc,
    "definition": _definition,
    "listing": _listing,
    "result": _result,
    "texts": _texts,
    "token": _token,
    "keys": _keys,
    "claims": _claims,
    "manifest": _manifest,
    "review": _review,
}


def main() -> None:
    """Fuzz the target that is named."""
    target = TARGETS[sys.argv.pop(1)]

    def one(data: bytes) -> None:
        with contextlib.suppress(McpError, MalformedListError, KeySetError, NotAReview):
            target(data)

    atheris.Setup(sys.argv, one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
