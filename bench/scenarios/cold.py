"""From nothing: until ready, until the first list; and what it costs to do nothing."""

import statistics
import subprocess
import time
from typing import Final

from bench.backend import Spec
from bench.machine import SERVER_CORE, BenchError
from bench.messages import ask, open_session, request
from bench.servers import Lab, backends, eventually, responds, sidecar
from bench.table import Table

SLOWEST_MS: Final = 100.0
TEN: Final = [
    Spec(era="legacy" if number % 2 else "modern", delay_ms=SLOWEST_MS * (number + 1) / 10) for number in range(10)
]
"""Five of each era; the slowest is a legacy one, which takes three more round trips to find out and to greet."""
IDLE_BACKENDS: Final = 50


def run(lab: Lab) -> Table:
    """Measure."""
    table = Table("Cold start and idling")
    repeats = 1 if lab.quick else max(3, lab.rounds)
    ready_ms = [_ready_ms(lab) for _ in range(repeats)]
    import_ms = [_import_ms(lab) for _ in range(repeats)]
    lists = [_first_list_ms(lab) for _ in range(repeats)]
    table.rounds.append({"ready_ms": ready_ms, "import_ms": import_ms, "first_list_and_direct_ms": lists})
    table.add(what="started until ready", unit="ms", median=statistics.median(ready_ms), worst=max(ready_ms))
    table.add(what="of which imports", unit="ms", median=statistics.median(import_ms), worst=max(import_ms))
    ours, direct = zip(*lists, strict=True)
    table.add(what="first list over ten backends", unit="ms", median=statistics.median(ours), worst=max(ours))
    table.add(what="the slowest of them asked directly", unit="ms", median=statistics.median(direct), worst=max(direct))
    shares = [mine / theirs for mine, theirs in lists]
    table.add(what="the one by the other", unit="x", median=statistics.median(shares), worst=max(shares))
    for what, unit, value in _idle(lab):
        table.add(what=what, unit=unit, median=value, worst=value)
    return table


def _ready_ms(lab: Lab) -> float:
    began = time.monotonic()
    with sidecar(lab, ["http://127.0.0.1:9/mcp"]):
        return (time.monotonic() - began) * 1000


def _import_ms(lab: Lab) -> float:
    def run(code: str) -> float:
        began = time.monotonic()
        command = ["taskset", "-c", SERVER_CORE, lab.python, "-c", code]
        subprocess.run(command, check=True, env={"PYTHONPATH": str(lab.source)})
        return time.monotonic() - began

    return (run("import switchyard_sidecar.main") - run("pass")) * 1000


def _first_list_ms(lab: Lab) -> tuple[float, float]:
    """From the first request that any backend sees until a client has the whole list; and the slowest one directly."""
    with backends(TEN) as behind, sidecar(lab, behind.hello["urls"]) as gateway:
        names = gateway.names()
        listed_at = time.monotonic()
        began = min(behind.ask(report=number)["first_asked_at"] for number in range(len(TEN)))
        if len(names) != sum(spec.tools for spec in TEN):
            raise BenchError(f"the first list has {len(names)} tools")
        direct = _directly_ms(behind.hello["urls"][-1])
    return (listed_at - began) * 1000, direct


def _directly_ms(url: str) -> float:
    """What a client of both eras needs for one legacy backend: probe, greet, list."""
    began = time.monotonic()
    if ask(url, request("modern", "server/discover")).status == 200:
        raise BenchError("the slowest backend is not a legacy one")
    session = open_session(url)
    if len(ask(url, request("legacy", "tools/list", session=session)).result["tools"]) != Spec().tools:
        raise BenchError("the slowest backend's list is not whole")
    return (time.monotonic() - began) * 1000


def _idle(lab: Lab) -> list[tuple[str, str, float]]:
    with sidecar(lab, []) as gateway:
        eventually(lambda: responds(gateway.admin, "/healthz"), "the admin port does not answer")
        time.sleep(0 if lab.quick else 1)
        empty_mib = gateway.process.rss_mib
    count = 5 if lab.quick else IDLE_BACKENDS
    specs = [Spec(era="legacy" if number % 2 else "modern") for number in range(count)]
    with backends(specs) as behind, sidecar(lab, behind.hello["urls"]) as gateway:
        gateway.wait_for(sum(spec.tools for spec in specs))
        time.sleep(0.2 if lab.quick else 2)
        before, began = gateway.process.cpu_s, time.monotonic()
        time.sleep(0.5 if lab.quick else 20)
        cpu_ms_per_s = (gateway.process.cpu_s - before) * 1000 / (time.monotonic() - began)
        return [
            ("resident, no backend", "MiB", empty_mib),
            (f"resident, {count} backends connected", "MiB", gateway.process.rss_mib),
            (f"CPU in each second, {count} backends connected", "ms", cpu_ms_per_s),
        ]
