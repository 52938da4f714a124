"""Other gateways that install from PyPI, in front of the same backends, each in a throw-away virtual environment.

Only with ``--peers``: they need minutes to install and a network. Gateways written in Go are measured by hand, as
``docs/performance.md`` says.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from bench.backend import Spec
from bench.load import Target, in_turns, median, ratio, raw
from bench.machine import LOAD_CORE, SERVER_CORE, BenchError, started
from bench.messages import ask, open_session, request
from bench.scenarios.warm import TOOLS
from bench.servers import Lab, backends, eventually, free_port, sidecar
from bench.table import Table

CLIENTS: Final = (1, 4)
SECONDS: Final = 10
"""Length of a turn: they list about ten times a second."""

_FASTMCP: Final = """
import json, sys
from fastmcp.server import create_proxy
servers = {f"b{number}": {"url": url, "transport": "http"} for number, url in enumerate(json.loads(sys.argv[1]))}
create_proxy({"mcpServers": servers}, name="peer").run(transport="http", port=int(sys.argv[2]), show_banner=False)
"""


@dataclass(frozen=True)
class Peer:
    """One gateway."""

    name: str
    requirement: str
    path: str


PEERS: Final = (
    Peer("FastMCP proxy 4.2.3", "fastmcp==4.2.3", "/mcp"),
    Peer("LiteLLM proxy", "litellm[proxy]", "/mcp/"),
)


def run(lab: Lab) -> Table:
    """Measure the warm list of the sidecar and of every peer that installs and lists all tools."""
    table = Table("Peers from PyPI: tools/list of 28 tools over three backends, legacy callers, server on one core")
    for peer in PEERS:
        try:
            _measure(lab, peer, table)
        except (BenchError, OSError, subprocess.SubprocessError) as error:
            print(f"  {peer.name}: not measured: {error}", file=sys.stderr)
    if not table.rows:
        raise BenchError("no peer could be measured")
    return table


def _measure(lab: Lab, peer: Peer, table: Table) -> None:
    specs = [Spec(era="legacy", tools=count) for count in TOOLS]
    with (
        tempfile.TemporaryDirectory(prefix="switchyard-peer-") as name,
        backends(specs) as behind,
        sidecar(lab, behind.hello["urls"]) as gateway,
    ):
        folder, port = Path(name), free_port()
        command, env = _install(peer, folder, behind.hello["urls"], port)
        url = f"http://127.0.0.1:{port}{peer.path}"
        with started(command, SERVER_CORE, env=env) as process:
            gateway.wait_for(sum(TOOLS))
            eventually(lambda: open_session(url) is not None or True, f"{peer.name} does not answer")
            targets = {}
            for label, where, whose in (("sidecar", gateway.url, gateway.process), (peer.name, url, process)):
                what = request("legacy", "tools/list", session=open_session(where))
                reply = ask(where, what)
                if len(reply.result["tools"]) != sum(TOOLS):
                    raise BenchError(f"it lists {len(reply.result['tools'])} tools")
                targets[label] = Target(where, what, whose, reply)
            for clients in CLIENTS:
                samples = in_turns(replace(lab, seconds=SECONDS), targets, clients)
                table.rounds.append({"clients": clients, **raw(samples)})
                for label, each in samples.items():
                    middle = median(each)
                    table.add(
                        server=label,
                        clients=clients,
                        lists_per_s=middle.rate,
                        p50_ms=middle.p50_ms,
                        p99_ms=middle.p99_ms,
                        cpu_us_each=middle.cpu_us,
                        of_sidecar=str(ratio(each, samples["sidecar"])),
                        rss_mib=targets[label].process.rss_mib,
                    )


def _install(peer: Peer, folder: Path, urls: Sequence[str], port: int) -> tuple[list[str], dict[str, str]]:
    """Install a peer; give the command that starts it, and its environment."""
    for command in (
        [sys.executable, "-m", "venv", str(folder / "venv")],
        [str(folder / "venv" / "bin" / "python"), "-m", "pip", "install", "--quiet", peer.requirement],
    ):
        subprocess.run(["taskset", "-c", LOAD_CORE, *command], check=True, capture_output=True, timeout=600)
    binaries = folder / "venv" / "bin"
    if peer.requirement.startswith("fastmcp"):
        return [str(binaries / "python"), "-c", _FASTMCP, json.dumps(urls), str(port)], {}
    open_to_all = {"auth_type": "none", "allow_all_keys": True, "available_on_public_internet": True}
    servers = {f"b{number}": {"url": url, "transport": "http", **open_to_all} for number, url in enumerate(urls)}
    (folder / "config.yaml").write_text(json.dumps({"mcp_servers": servers}))  # JSON is YAML
    command = [str(binaries / "litellm"), "--config", str(folder / "config.yaml"), "--host", "127.0.0.1"]
    return [*command, "--port", str(port)], {"LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY": "true"}
