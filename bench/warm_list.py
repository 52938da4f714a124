"""Warm ``tools/list`` beside nginx with the same bytes: one table, one JSON file.

The sidecar and nginx take turns on one core, wrk loads them from the other. What counts is the ratio within a round: this
way the machine's moods cancel out. Before anything is timed, both must give the right answer. Needs nginx and wrk
(Debian: ``apt-get install nginx-light wrk``) and two cores. Run it as ``make bench``.
"""

import argparse
import asyncio
import contextlib
import hashlib
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aiohttp import web

ROOT = Path(__file__).resolve().parent.parent
SERVER_CORE, LOAD_CORE = "0", "1"
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
REQUEST = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": META}})
HEADERS = {
    "Content-Type": "application/json",
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": VERSION,
    "Mcp-Method": "tools/list",
}


def tools(backend: int, count: int) -> list[dict[str, Any]]:
    """Tools of ordinary size: about 850 bytes each, as public servers have them."""
    return [
        {
            "name": f"operation_{backend}_{number:03}",
            "title": f"Operation {number} of backend {backend}",
            "description": "Searches records by free text and filters, and gives them page by page. " * 3,
            "inputSchema": {
                "type": "object",
                "properties": {
                    "query": {
                        "type": "string",
                        "description": "What to search for, in the search syntax of the service",
                    },
                    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20},
                    "filters": {"type": "array", "items": {"$ref": "#/$defs/filter"}},
                },
                "required": ["query"],
                "$defs": {"filter": {"type": "object", "properties": {"field": {"type": "string"}, "value": True}}},
                "additionalProperties": False,
            },
            "annotations": {"readOnlyHint": True, "openWorldHint": False},
        }
        for number in range(count)
    ]


@contextlib.asynccontextmanager
async def backend(number: int, count: int) -> AsyncIterator[str]:
    """A modern backend whose list is good for ten minutes."""
    listing = {"tools": tools(number, count), "ttlMs": 600_000, "cacheScope": "public", "resultType": "complete"}
    discover = {
        "supportedVersions": [VERSION],
        "capabilities": {"tools": {}},
        "ttlMs": 0,
        "cacheScope": "public",
        "resultType": "complete",
    }

    async def answer(request: web.Request) -> web.Response:
        message = await request.json()
        result = discover if message["method"] == "server/discover" else listing
        return web.json_response({"jsonrpc": "2.0", "id": message["id"], "result": result})

    application = web.Application()
    application.router.add_post("/mcp", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/mcp"
    finally:
        await runner.cleanup()


@contextlib.contextmanager
def started(command: list[str], core: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program pinned to one core while the block runs."""
    with subprocess.Popen(["taskset", "-c", core, *command], stderr=subprocess.DEVNULL) as process:
        try:
            yield process
        finally:
            process.terminate()


def ask(url: str) -> bytes:
    """One list, asked as wrk asks it."""
    request = urllib.request.Request(url, REQUEST.encode(), HEADERS)
    with urllib.request.urlopen(request, timeout=5) as response:
        return bytes(response.read())


def wait_for(url: str, names: int) -> bytes:
    """The answer of a server that has started and knows all tools."""
    for _ in range(200):
        with contextlib.suppress(OSError, KeyError, ValueError):
            body = ask(url)
            if len(json.loads(body)["result"]["tools"]) == names:
                return body
        time.sleep(0.05)
    raise SystemExit(f"{url} did not serve {names} tools within 10 s")


def load(url: str, connections: int, seconds: int, script: Path) -> dict[str, float]:
    """Load a server with wrk; rates and latencies as wrk itself measured them."""
    command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    result: dict[str, float] = json.loads(output[output.index("RESULT") + 6 :])
    if result["errors"]:
        raise SystemExit(f"{url}: wrk counted {result['errors']:.0f} errors")
    return result


WRK = """
wrk.method = "POST"
wrk.body = [==[%s]==]
%s
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT{"rate":%%f,"p50_ms":%%f,"p99_ms":%%f,"errors":%%d}\\n', summary.requests / (summary.duration / 1e6),
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
"""

NGINX = """
worker_processes 1; daemon off; error_log stderr emerg; pid {folder}/nginx.pid;
events {{ worker_connections 1024; }}
http {{
  access_log off; keepalive_requests 1000000000; client_body_temp_path {folder}/body; default_type application/json;
  proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  open_file_cache max=10; sendfile on; tcp_nopush on;
  server {{ listen 127.0.0.1:{port}; root {folder}; error_page 405 =200 $uri; }}
}}
"""


def measure(sidecar: str, nginx: str, options: argparse.Namespace, script: Path) -> list[dict[str, Any]]:
    """Take turns; give one row for each number of connections."""
    rows = []
    for connections in (1, 16, 64):
        rounds: list[dict[str, Any]] = []
        for _ in range(options.rounds):
            ours = load(sidecar, connections, options.seconds, script)
            theirs = load(nginx, connections, options.seconds, script)
            rounds.append({"sidecar": ours, "nginx": theirs, "ratio": ours["rate"] / theirs["rate"]})
        ratios = sorted(each["ratio"] for each in rounds)
        row: dict[str, Any] = {
            "connections": connections,
            "rounds": rounds,
            "ratio": {"min": ratios[0], "median": statistics.median(ratios), "max": ratios[-1]},
        }
        for name in ("sidecar", "nginx"):
            row[name] = {
                key: statistics.median(each[name][key] for each in rounds) for key in ("rate", "p50_ms", "p99_ms")
            }
        rows.append(row)
    return rows


def show(rows: list[dict[str, Any]], size: int, count: int) -> None:
    """Print the table."""
    print(f"\nwarm tools/list, {count} tools, {size / 1024:.1f} KiB; server on one core, medians\n")
    print(f"{'clients':>8} {'sidecar/s':>10} {'p50 ms':>8} {'p99 ms':>8} {'nginx/s':>10} {'ratio':>7}   (min-max)")
    for row in rows:
        ours, ratio = row["sidecar"], row["ratio"]
        print(
            f"{row['connections']:>8} {ours['rate']:>10,.0f} {ours['p50_ms']:>8.2f} {ours['p99_ms']:>8.2f}"
            f" {row['nginx']['rate']:>10,.0f} {ratio['median']:>7.2f}   ({ratio['min']:.2f}-{ratio['max']:.2f})"
        )


def machine() -> dict[str, str]:
    """What the figures were taken on."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True, check=False).stderr.strip()
    return {
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "commit": commit.stdout.strip(),
        "python": platform.python_version(),
        "nginx": nginx.partition("/")[2],
        "machine": platform.machine(),
        "cores": str(os.cpu_count()),
    }


async def main() -> None:
    """Start everything, check the answers, measure, report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="turns each server takes (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=3, help="length of one turn (default %(default)s)")
    parser.add_argument("--quick", action="store_true", help="one short round: does it work at all")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds = 1, 1
    for program in ("nginx", "wrk", "taskset"):
        if shutil.which(program) is None:
            raise SystemExit(f"bench: {program} is not installed (Debian: apt-get install nginx-light wrk util-linux)")
    counts = (10, 9, 9)
    async with contextlib.AsyncExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="switchyard-bench-")))
        urls = [await stack.enter_async_context(backend(number, count)) for number, count in enumerate(counts)]
        config = {
            "namespace": "bench",
            "name": "bench",
            "backends": [
                {"namespace": "bench", "name": f"b{number}", "url": url, "prefix": f"b{number}"}
                for number, url in enumerate(urls)
            ],
        }
        (folder / "config").mkdir()
        (folder / "config" / "gateway.json").write_text(json.dumps(config))
        command = [sys.executable, "-m", "switchyard_sidecar.main", "--config", str(folder / "config")]
        stack.enter_context(started([*command, "--listen", "127.0.0.1:18811", "--log-level", "error"], SERVER_CORE))
        sidecar = "http://127.0.0.1:18811/mcp"
        body = await asyncio.to_thread(wait_for, sidecar, sum(counts))
        (folder / "mcp").write_bytes(body)
        folder.chmod(0o755)  # nginx drops to a user of its own when started by root
        (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=18812))
        stack.enter_context(started(["nginx", "-c", str(folder / "nginx.conf")], SERVER_CORE))
        nginx = "http://127.0.0.1:18812/mcp"
        same = await asyncio.to_thread(wait_for, nginx, sum(counts))
        if hashlib.sha256(same).digest() != hashlib.sha256(body).digest():
            raise SystemExit("nginx does not serve the same bytes")
        headers = "\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in HEADERS.items())
        script = folder / "list.lua"
        script.write_text(WRK % (REQUEST, headers))
        rows = await asyncio.to_thread(measure, sidecar, nginx, options, script)
        final = json.loads(await asyncio.to_thread(ask, sidecar))["result"]
        if len(final["tools"]) != sum(counts):
            raise SystemExit("the sidecar's last answer is not the whole list")
    show(rows, len(body), sum(counts))
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    file = results / "warm_list.json"
    file.write_text(json.dumps({"machine": machine(), "bytes": len(body), "rows": rows}, indent=2))
    print(f"\nall rounds: {file.relative_to(ROOT)}")


if __name__ == "__main__":
    asyncio.run(main())
