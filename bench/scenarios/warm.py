"""A warm ``tools/list`` of three backends, beside nginx with the same bytes and beside a backend asked directly."""

import json
from typing import Final

from bench.backend import Spec
from bench.load import Target, compare
from bench.machine import SERVER_CORE, BenchError
from bench.messages import ask, request
from bench.servers import Lab, backends, nginx, sidecar
from bench.table import Table

TOOLS: Final = (10, 9, 9)
CLIENTS: Final = (1, 16, 64)


def run(lab: Lab) -> Table:
    """Measure. The backend asked directly runs on the server core and lists as many tools alone: Python's own floor."""
    what = request("modern", "tools/list")
    with (
        backends([Spec(tools=count) for count in TOOLS]) as behind,
        backends([Spec(tools=sum(TOOLS))], core=SERVER_CORE) as direct,
        sidecar(lab, behind.hello["urls"]) as gateway,
    ):
        gateway.wait_for(sum(TOOLS))
        body = ask(gateway.url, what).body
        direct_url = direct.hello["urls"][0]
        with nginx(body) as (nginx_process, nginx_url):
            targets = {
                "sidecar": Target(gateway.url, what, gateway.process, ask(gateway.url, what)),
                "nginx": Target(nginx_url, what, nginx_process, ask(nginx_url, what)),
                "backend": Target(direct_url, what, direct.process, ask(direct_url, what)),
            }
            table = Table(f"Warm tools/list: {sum(TOOLS)} tools, {len(body) / 1024:.1f} KiB, server on one core")
            for clients in CLIENTS[-1:] if lab.quick else CLIENTS:
                compare(lab, table, targets, clients, of="nginx")
        if json.loads(ask(gateway.url, what).body)["result"]["tools"] != json.loads(body)["result"]["tools"]:
            raise BenchError("the list after the load is not the list before it")
    return table
