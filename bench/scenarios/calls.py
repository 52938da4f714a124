"""``tools/call`` through the sidecar, beside the same call of the same backend asked directly."""

from typing import Final

from bench.backend import Spec
from bench.load import Target, in_turns, median, raw
from bench.machine import BenchError
from bench.messages import ARGUMENTS, CALLED, ask, call, open_session
from bench.servers import Lab, backends, sidecar
from bench.table import Table

WAYS: Final = (("modern", "modern"), ("modern", "legacy"), ("legacy", "modern"))
"""The caller's era and the backend's."""
CLIENTS: Final = (1, 16)


def run(lab: Lab) -> Table:
    """Measure. Backends share the load core with wrk, so the direct rate is no more than what wrk and they reach together."""
    table = Table("tools/call; what the gateway adds is the difference of the medians in the same rounds")
    eras = sorted({backend for _, backend in WAYS})
    with (
        backends([Spec(era=era) for era in eras]) as behind,
        sidecar(lab, behind.hello["urls"]) as gateway,
    ):
        gateway.wait_for(sum(Spec().tools for _ in eras))
        for caller, era in WAYS:
            number = eras.index(era)
            url = behind.hello["urls"][number]
            through = call(
                caller, f"b{number}__{CALLED}", session=open_session(gateway.url) if caller == "legacy" else None
            )
            direct = call(era, CALLED, session="bench")
            for where, what in ((gateway.url, through), (url, direct)):
                _check(ask(where, what).result, number)
            targets = {
                "sidecar": Target(gateway.url, through, gateway.process, ask(gateway.url, through)),
                "backend": Target(url, direct, behind.process, ask(url, direct)),
            }
            for clients in CLIENTS[-1:] if lab.quick else CLIENTS:
                samples = in_turns(lab, targets, clients)
                ours, theirs = median(samples["sidecar"]), median(samples["backend"])
                table.rounds.append({"caller": caller, "backend": era, "clients": clients, **raw(samples)})
                table.add(
                    way=f"{caller} -> {era}",
                    clients=clients,
                    calls_per_s=ours.rate,
                    p50_ms=ours.p50_ms,
                    p99_ms=ours.p99_ms,
                    cpu_us_each=ours.cpu_us,
                    direct_per_s=theirs.rate,
                    direct_p50_ms=theirs.p50_ms,
                    added_ms=ours.p50_ms - theirs.p50_ms,
                )
            _check(ask(gateway.url, through).result, number)
    return table


def _check(result: dict[str, object], number: int) -> None:
    expected = [{"type": "text", "text": f"backend {number} ran {CALLED}"}]
    if result.get("content") != expected or result.get("structuredContent") != ARGUMENTS:
        raise BenchError(f"a call of backend {number} was answered with {result}")
