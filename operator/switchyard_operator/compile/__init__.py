"""From resources to what one sidecar is given: config, credentials and reports. Pure, but for :mod:`.directory`."""

from switchyard_operator.compile.gateway import CompiledGateway, compile_gateway
from switchyard_operator.compile.objects import Objects
from switchyard_operator.compile.reports import Reason, Report, Severity

__all__ = [
    "CompiledGateway",
    "Objects",
    "Reason",
    "Report",
    "Severity",
    "compile_gateway",
]
