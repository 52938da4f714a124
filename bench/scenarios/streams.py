"""Thousands of ``subscriptions/listen`` streams: what each costs, and how soon all are told of a change."""

import time
from typing import Final

from bench.backend import Spec
from bench.machine import BenchError, open_files
from bench.program import running
from bench.servers import Lab, backends, sidecar
from bench.table import Table

COUNTS: Final = (500, 1_000, 10_000)
CHANGES: Final = 5
"""Changes in each round; between two of them the sidecar rests, so that its least distance of reads does not count."""
REST_S: Final = 0.5
COLLECT_S: Final = 30
SPARE_FILES: Final = 200


def run(lab: Lab) -> Table:
    """Measure: from the backend's change, and from its answer with the changed list, until each subscriber was told."""
    table = Table("Change streams: one of three backends changes, all subscribers are told (ms; medians over changes)")
    room = open_files() - SPARE_FILES
    for count in (50,) if lab.quick else [min(count, room) for count in COUNTS]:
        with backends([Spec()] * 3) as behind, sidecar(lab, behind.hello["urls"]) as gateway:
            gateway.wait_for(30)
            time.sleep(REST_S)
            idle_mib = gateway.process.rss_mib
            with running("bench.subscribers", gateway.url, str(count)) as subscribers:
                time.sleep(REST_S)
                per_stream_kib = (gateway.process.rss_mib - idle_mib) * 1024 / count
                told = []
                for _ in range(1 if lab.quick else CHANGES * min(lab.rounds, 3)):
                    cpu_s = gateway.process.cpu_s
                    changed_at = behind.ask(change=1)["at"]
                    heard = subscribers.ask(collect=COLLECT_S)
                    moments, again = heard["first_heard_at"], heard["heard_again"]
                    if len(moments) != count or again:
                        raise BenchError(f"{len(moments)} of {count} were told of one change, {again} more than once")
                    listed_at = behind.ask(report=1)["listed_at"]
                    told.append(
                        {
                            "cpu_us": (gateway.process.cpu_s - cpu_s) * 1e6 / count,
                            "reread": (listed_at - changed_at) * 1000,
                            "p50": (moments[count // 2] - changed_at) * 1000,
                            "p99": (moments[count * 99 // 100] - changed_at) * 1000,
                            "max": (moments[-1] - changed_at) * 1000,
                        }
                    )
                    time.sleep(REST_S)
                middle = {key: sorted(each[key] for each in told)[len(told) // 2] for key in told[0]}
                table.rounds.append({"streams": count, "told": told})
                table.add(
                    streams=count,
                    kib_each=per_stream_kib,
                    rss_mib=gateway.process.rss_mib,
                    list_reread_after=middle["reread"],
                    told_p50=middle["p50"],
                    told_p99=middle["p99"],
                    told_max=middle["max"],
                    cpu_us_each=middle["cpu_us"],
                    p99_after_reread=middle["p99"] - middle["reread"],
                )
            if len(gateway.names()) != 30:
                raise BenchError("the list is not whole after the changes")
    return table
