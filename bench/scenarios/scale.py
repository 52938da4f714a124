"""Large gateways: many tools, many backends, one huge list. What a byte costs, how long a change takes, how long the loop stands still."""

import statistics
import time
from dataclasses import dataclass
from typing import Final

from bench.backend import Spec
from bench.load import Target, turn
from bench.machine import BenchError
from bench.messages import ask, request
from bench.program import Program, running
from bench.servers import Lab, Sidecar, backends, sidecar
from bench.table import Table


@dataclass(frozen=True)
class Size:
    """One shape of a gateway."""

    name: str
    backends: int
    tools: int
    """Of each backend."""
    tool_bytes: int = 850


SIZES: Final = (
    Size("100 tools, 4 backends", 4, 25),
    Size("4,500 tools, 45 backends", 45, 100),
    Size("10,000 tools, 100 backends", 100, 100),
    Size("5,000 tools, 500 backends", 500, 10),
    Size("one list of 60 MB", 1, 18_000, 3_330),
)
QUICK: Final = (Size("100 tools, 4 backends", 4, 25), Size("1,000 tools, 10 backends", 10, 100))
CHANGES: Final = 9
REST_S: Final = 0.5
COLLECT_S: Final = 60


def run(lab: Lab) -> Table:
    """Measure. A subscriber is told only when the new list can be read: that is the moment taken for "readable"."""
    table = Table(
        "Scale (ms; medians over changes of one tool, pauses: the worst; pauses are of the sidecar's event loop, turns its CPU)"
    )
    for size in QUICK if lab.quick else SIZES:
        _measure(lab, size, table)
    first = table.rows[0]["cpu_us_per_kib"]
    for row in table.rows:
        row["cost_per_byte"] = row["cpu_us_per_kib"] / first
    return table


def _measure(lab: Lab, size: Size, table: Table) -> None:
    spec = Spec(tools=size.tools, tool_bytes=size.tool_bytes)
    what = request("modern", "tools/list")
    with backends([spec] * size.backends) as behind, sidecar(lab, behind.hello["urls"], ticking=True) as gateway:
        began = time.monotonic()
        gateway.wait_for(size.backends * size.tools)
        first_list_ms = (time.monotonic() - began) * 1000
        at_first = gateway.longest_pause()
        reply = ask(gateway.url, what)
        body_bytes = len(reply.body)
        clients = 4
        sample = turn(Target(gateway.url, what, gateway.process, reply), clients, lab.seconds)
        with (
            running("bench.subscribers", gateway.url, "1") as subscriber,
            running("bench.pulse", gateway.admin, "/healthz") as pulse,
        ):
            time.sleep(REST_S)
            gateway.longest_pause()
            pulse.ask()
            changed_ms = [_change(behind, subscriber, size) for _ in range(1 if lab.quick else CHANGES)]
            then, from_outside_ms = gateway.longest_pause(), pulse.ask()["worst_ms"]
        _check(gateway, size)
        table.rounds.append({"size": size.name, "changed_ms": changed_ms})
        table.add(
            gateway=size.name,
            list_mib=body_bytes / 2**20,
            rss_mib=gateway.process.rss_mib,
            peak_mib=gateway.process.peak_rss_mib,
            all_listed_after=first_list_ms,
            pause_then=at_first.pause_ms,
            turn_then=at_first.cpu_ms,
            change_readable_after=statistics.median(changed_ms),
            pause_then_=then.pause_ms,
            turn_then_=then.cpu_ms,
            from_outside=from_outside_ms,
            cpu_us_per_kib=sample.cpu_us / (body_bytes / 1024),
        )


def _change(behind: Program, subscriber: Program, size: Size) -> float:
    changed_at: float = behind.ask(change=size.backends // 2)["at"]
    heard: list[float] = subscriber.ask(collect=COLLECT_S)["first_heard_at"]
    if not heard:
        raise BenchError(f"a change was not told within {COLLECT_S} s")
    time.sleep(REST_S)
    return (heard[0] - changed_at) * 1000


def _check(gateway: Sidecar, size: Size) -> None:
    """See that the last change is in the list, and that the list is whole."""
    tools = ask(gateway.url, request("modern", "tools/list")).result["tools"]
    number = size.backends // 2
    name = f"b{number}__operation_{size.tools - 1:03}"
    changed = next((tool for tool in tools if tool["name"] == name), None)
    if len(tools) != size.backends * size.tools or changed is None or "revision 0" in changed["description"]:
        raise BenchError(f"{size.name}: the list is not what the backends have")
