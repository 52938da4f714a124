"""The operator: from its start until every config is written, from a change until it has arrived, and what rest costs.

Of each size there is a cluster of its own. The operator is started in it twice: when nothing is written yet, and when everything is.
"""

import asyncio
import statistics
import time
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any, Final

from apiserver.client import Client
from bench import machine
from bench.machine import BenchError
from bench.operator.changes import Took, changes, make
from bench.operator.cluster import api_server, fill, versions
from bench.operator.declared import Cluster
from bench.operator.process import Operator, running, settled
from bench.operator.seen import watched
from bench.servers import Lab, free_port
from bench.table import Table

TEAMS: Final = (1, 10, 100)
CHANGES: Final = 200
REST_S: Final = 60.0
CALM_S: Final = 8.0
"""What has not changed for so long has come to rest: some statuses wait for 5 s."""


def run(lab: Lab) -> Table:
    """Measure. A change counts as arrived when the last config that it concerns has come back over a watch."""
    table = Table(
        "Operator (s; a change: ms until the last config that it concerns has arrived, and CPU of all that follows; at rest: ms in a second)"
    )
    python = machine.lean_python("operator")
    for teams in TEAMS[:1] if lab.quick else TEAMS:
        asyncio.run(_measure(lab, Cluster(teams, free_port()), python, table))
    return table


async def _measure(lab: Lab, cluster: Cluster, python: str, table: Table) -> None:
    async with api_server() as (server, client):
        await fill(client, cluster)
        async with watched(server, cluster) as configs:
            async with running(server, python) as operator:
                first = await _started(operator)
                if len(configs.hashes) != cluster.gateways:
                    raise BenchError(f"of {cluster.gateways} configs {len(configs.hashes)} are written")
                written_s = max(configs.changed_at.values()) - operator.began
                await _calm(client)
            async with running(server, python) as operator:
                again = await _started(operator)
                await _calm(client)
                again["writes"] = (await operator.metrics()).get("writes_total", 0.0)
                rest = await _rest(client, operator, 2.0 if lab.quick else REST_S)
                cpu_s = operator.process.cpu_s
                took = await make(client, configs, changes(cluster, 8 if lab.quick else CHANGES))
                changes_cpu_s = operator.process.cpu_s - cpu_s
                loaded_mib, peak_mib = operator.process.rss_mib, operator.process.peak_rss_mib
    last_ms = [max(each.seconds) * 1000 for each in took]
    table.add(
        gateways=cluster.gateways,
        backends=cluster.backends,
        pods=cluster.pods,
        secrets=cluster.strangers,
        configs_written=written_s,
        settled=first["seconds"],
        cpu=first["cpu_s"],
        again=again["seconds"],
        cpu_=again["cpu_s"],
        writes=int(again["writes"]),
        change_p50=statistics.median(last_ms),
        change_p99=_quantile(last_ms, 0.99),
        cpu_ms_each=changes_cpu_s * 1000 / len(took),
        cpu_at_rest=rest["cpu_ms_per_s"],
        writes_at_rest=rest["writes"],
        rss_mib=rest["rss_mib"],
        rss_loaded=loaded_mib,
        peak_mib=max(peak_mib, first["peak_mib"]),
    )
    table.rounds.append(
        {
            "gateways": cluster.gateways,
            "first_start": first,
            "second_start": again,
            "rest": rest,
            "changes": _by_kind(took),
            "took": [asdict(each) for each in took],
        }
    )


async def _started(operator: Operator) -> dict[str, float]:
    seconds = await operator.until(settled)
    process = operator.process
    return {
        "seconds": seconds,
        "cpu_s": process.cpu_s,
        "rss_mib": process.rss_mib,
        "peak_mib": process.peak_rss_mib,
    }


async def _calm(client: Client) -> None:
    """Wait until nothing is written any more: pods have been asked, and statuses tell of it."""
    before = await versions(client)
    while True:
        await asyncio.sleep(CALM_S)
        after = await versions(client)
        if after == before:
            return
        before = after


async def _rest(client: Client, operator: Operator, for_s: float) -> dict[str, float]:
    """What happens when nothing happens."""
    before, cpu_s, began = await versions(client), operator.process.cpu_s, time.monotonic()
    await asyncio.sleep(for_s)
    spent_ms, seconds = (operator.process.cpu_s - cpu_s) * 1000, time.monotonic() - began
    written = before.items() ^ (await versions(client)).items()
    return {
        "cpu_ms_per_s": spent_ms / seconds,
        "writes": len(dict(written)),
        "rss_mib": operator.process.rss_mib,
    }


def _by_kind(took: Iterable[Took]) -> dict[str, dict[str, Any]]:
    last_ms: dict[str, list[float]] = {}
    for each in took:
        last_ms.setdefault(f"{each.kind}, {len(each.seconds)} configs", []).append(max(each.seconds) * 1000)
    return {
        kind: {"count": len(values), "p50_ms": statistics.median(values), "p99_ms": _quantile(values, 0.99)}
        for kind, values in last_ms.items()
    }


def _quantile(values: list[float], share: float) -> float:
    """The smallest value that so great a share of all is not greater than."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
