"""``switchyard compile``: print what the operator would write for each gateway. Equal files give equal output.

Secrets are not shown unless asked for. Nor are revisions and the key they are made with: the operator's key is random, and a
digest under a known key would tell a weak secret to whoever reads the output. Issuer and keys of service accounts are the cluster's.
"""

import argparse
import sys
from collections.abc import Iterator
from typing import Any, Final

import yaml

from switchyard_operator.api.resource import Key
from switchyard_operator.cli.inputs import describe, describe_unused, gateways, read
from switchyard_operator.compile import CompiledGateway, Report, Severity, compile_gateway
from switchyard_operator.compile.aliases import idle_aliases
from switchyard_operator.compile.authentication import MADE_BY_THE_OPERATOR
from switchyard_operator.compile.children import TooLarge, config_map, secret
from switchyard_operator.compile.rendering import render
from switchyard_operator.manifests.sources import Sources
from switchyard_sidecar.config.model import CREDENTIAL_KEY_FILE

REDACTED: Final = "<redacted>"
"""Stands for values; it is no base64, so that applying the output fails instead of destroying credentials."""
_KEY_MADE_BY_OPERATOR: Final = "<made by the operator>"


def run(arguments: argparse.Namespace) -> int:
    """Print the objects of one gateway or of all.

    Exit code 1 when something that was asked for is left out; 2 when a gateway is too large for a cluster.
    """
    manifests = read(Sources.of(arguments.files))
    reports: list[Report] = list(idle_aliases(manifests.objects))
    too_large = False
    for key in gateways(manifests, arguments.gateway):
        compiled = compile_gateway(
            manifests.objects, key, revision_key=None, cluster=True, service_accounts=MADE_BY_THE_OPERATOR
        )
        reports += compiled.reports
        try:
            children = list(_children(compiled, show_secrets=arguments.show_secrets))
        except TooLarge as error:
            too_large = True
            print(f"error: MCPGateway {key}: {error}", file=sys.stderr)  # noqa: T201
            continue
        for child in children:
            sys.stdout.write("---\n" + yaml.dump(child, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120))
    lines = dict.fromkeys(describe(report, manifests) for report in reports)
    for line in (*describe_unused(manifests), *lines):
        print(line, file=sys.stderr)  # noqa: T201
    if too_large:
        return 2
    return 1 if any(report.severity is Severity.ERROR for report in reports) else 0


def _children(compiled: CompiledGateway, *, show_secrets: bool) -> Iterator[dict[str, Any]]:
    gateway = Key(compiled.config.namespace, compiled.config.name)
    yield config_map(gateway, render(compiled.config))
    child = secret(gateway, compiled.credentials)
    if not show_secrets:
        child["data"] = dict.fromkeys(child["data"], REDACTED)
    yield child | {"data": {**child["data"], CREDENTIAL_KEY_FILE: _KEY_MADE_BY_OPERATOR}}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, as people write them."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.Node:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)
