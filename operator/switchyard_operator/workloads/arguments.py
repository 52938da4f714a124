"""How a command line says what an installation's sidecars are like: the same for the webhook and for the operator."""

import argparse
import os
from typing import Final

from pydantic import ValidationError

from switchyard_operator.api.explain import explain
from switchyard_operator.api.fields import dotted
from switchyard_operator.api.gateway_sidecar import Resources
from switchyard_operator.workloads.settings import DEFAULT_RESOURCES, Installation

_PULL_POLICIES: Final = ("Always", "IfNotPresent", "Never")


def add_arguments(parser: argparse.ArgumentParser, *, image_required: bool) -> None:
    """Let a command line say it."""
    add = parser.add_argument
    add(
        "--sidecar-image",
        required=image_required,
        metavar="IMAGE",
        help="of sidecars whose gateway names none; pods with another are outdated",
    )
    add(
        "--sidecar-pull-policy",
        choices=_PULL_POLICIES,
        help="where a gateway names none; by the image's tag unless given",
    )
    add("--sidecar-pull-secret", action="append", default=[], metavar="NAME", help="added to pods; may be repeated")
    add(
        "--sidecar-resources",
        type=_resources,
        default=DEFAULT_RESOURCES.model_dump_json(exclude_none=True),
        metavar="JSON",
        help="requests and limits where a gateway names none",
    )


def installation(arguments: argparse.Namespace) -> Installation:
    """What was said."""
    return Installation(
        image=arguments.sidecar_image or "",
        pull_policy=arguments.sidecar_pull_policy,
        pull_secrets=tuple(arguments.sidecar_pull_secret),
        resources=arguments.sidecar_resources,
        host=_any_address(),
    )


def _any_address() -> str:
    """Every address of a pod, of the family that this cluster's pods have: as its first Service, so its pods."""
    return "[::]" if ":" in os.environ.get("KUBERNETES_SERVICE_HOST", "") else "0.0.0.0"  # noqa: S104


def _resources(text: str) -> Resources:
    try:
        return Resources.model_validate_json(text)
    except ValidationError as error:
        faults = [
            f"{dotted(each.field)}: {each.message}" if each.field else each.message
            for each in explain(Resources, error)
        ]
        raise argparse.ArgumentTypeError(f"{text!r}: {'; '.join(faults)}") from error
