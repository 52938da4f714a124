"""Four real MCP servers of both protocol eras behind one endpoint: list, live change, call. Run it with `make demo`.

KEEP=1 keeps everything up at the end and says how to connect to it.
"""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
SWITCHYARD = Path(sys.executable).with_name("switchyard")
VENVS = ROOT / ".counterparts" / "python"
SERVERS = {
    "weather": ("mcp2", "Python SDK mcp 2.3.0"),
    "tickets": ("mcp1", "Python SDK mcp 1.30.0"),
    "wiki": ("fastmcp", "fastmcp 4.2.3"),
    "orders": ("mcp2", "Python SDK mcp 2.3.0"),
}
"""Each server's virtual environment, and what to say about it."""
PATIENCE_S = 20
VERSION = "2026-07-28"
META = {
    "io.modelcontextprotocol/protocolVersion": VERSION,
    "io.modelcontextprotocol/clientInfo": {"name": "switchyard-demo", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


class DemoError(Exception):
    """The demo cannot go on; the message says why and what to do."""


# What a person sees.

COLOUR = sys.stdout.isatty() and "NO_COLOR" not in os.environ


def bold(text):
    return f"\033[1m{text}\033[0m" if COLOUR else text


def dim(text):
    return f"\033[2m{text}\033[0m" if COLOUR else text


def say(text=""):
    print(text, flush=True)


def step(title):
    say(f"\n{bold(title)}")


def table(head, rows):
    """Print columns as wide as they need to be, and no wider than the screen."""
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    room = shutil.get_terminal_size((110, 24)).columns - 2
    for row, style in [(head, dim), *((row, str) for row in rows)]:
        line = "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        say("  " + style(line if len(line) <= room else f"{line[: room - 1]}…"))


# The pieces.


def install():
    """Bring the SDKs of the four servers; quick when they are there."""
    started = time.monotonic()
    command = [sys.executable, ROOT / "scripts" / "counterparts.py", "install", "--only", "python"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
        try:
            output, _ = process.communicate(timeout=2)
        except subprocess.TimeoutExpired:
            say("Installing the servers' SDKs into .counterparts (this once) ...")
            output, _ = process.communicate()
    if process.returncode:
        raise DemoError(f"the SDKs could not be installed:\n{output}")
    if time.monotonic() - started > 2:
        say(f"Installed in {time.monotonic() - started:.0f} s.")


@contextmanager
def started(command, name, log):
    """Run a program until the block ends; yields the process and its first line."""
    with log.open("wb") as errors:
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        try:
            line = process.stdout.readline()
            if not line:
                process.wait()
                raise DemoError(f"{name} did not start:\n{log.read_text()}")
            yield process, line
        finally:
            process.stdin.close()
            process.terminate()
            try:
                process.wait(timeout=15)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()


def manifests_into(folder, urls):
    """Copy the manifests, with the URLs that the servers got. Return what they declare."""
    declared = []
    for source in sorted((HERE / "manifests").glob("*.yaml")):
        text = source.read_text()
        for resource in yaml.safe_load_all(text):
            declared.append(resource)
            if resource["kind"] == "MCPBackend":
                text = text.replace(resource["spec"]["url"], urls[resource["metadata"]["name"]])
        (folder / source.name).write_text(text)
    return declared


def backend_of(declared):
    """A function that tells whose tool an exposed name is."""
    [gateway] = [resource for resource in declared if resource["kind"] == "MCPGateway"]
    prefixes = {entry.get("prefix", entry["name"]): entry["name"] for entry in gateway["spec"]["backends"]}
    aliases = {
        resource["spec"]["alias"]: resource["spec"]["backendRef"]["name"]
        for resource in declared
        if resource["kind"] == "MCPToolAlias"
    }
    return lambda name: aliases.get(name) or prefixes.get(name.split("__")[0], "?")


@dataclass
class Endpoint:
    """The gateway, as a 2026-07-28 client speaks to it: each request stands alone."""

    url: str
    number: int = 0

    def send(self, method, params=None, headers=None):
        """Send one request; return the open response."""
        self.number += 1
        body = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": {"_meta": META, **(params or {})}}
        parts = urlsplit(self.url)
        connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)
        fields = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": VERSION,
            "Mcp-Method": method,
        }
        connection.request("POST", parts.path, json.dumps(body), fields | (headers or {}))
        return connection.getresponse()

    def ask(self, method, params=None, headers=None):
        """Send one request; return its result."""
        with self.send(method, params, headers) as response:
            answer = json.loads(response.read())
        if "error" in answer:
            raise DemoError(f"{method} was answered with an error: {answer['error']}")
        return answer["result"]

    def tools(self):
        """All tools. The gateway serves them in one page."""
        return self.ask("tools/list")["tools"]

    def subscribe(self):
        """Open a change stream, and return it when it is acknowledged."""
        response = self.send("subscriptions/listen", {"notifications": {"toolsListChanged": True}})
        next_message(response)
        return response


def next_message(response):
    """Wait for the next message of an event stream."""
    for line in response:
        if line.startswith(b"data:") and line[5:].strip():
            return json.loads(line[5:])
    raise DemoError("the change stream ended")


def wait_for_all(admin, backends):
    """Wait until every backend has been read; return what the admin port says about each."""
    parts = urlsplit(admin)
    deadline = time.monotonic() + PATIENCE_S
    while True:
        with closing(http.client.HTTPConnection(parts.hostname, parts.port, timeout=PATIENCE_S)) as connection:
            connection.request("GET", "/status")
            known = json.loads(connection.getresponse().read())["backends"]
        status = {name: known.get(f"default/{name}", {}) for name in backends}
        if all(backend.get("state") == "ready" for backend in status.values()):
            return status
        if time.monotonic() > deadline:
            faults = {name: backend.get("lastError") for name, backend in status.items()}
            raise DemoError(f"not every server could be read within {PATIENCE_S} s: {faults}")
        time.sleep(0.05)


# The show.


def show(stack, folder):
    """Start everything, show what it does, and return the gateway's endpoint and admin URL. What runs ends with the stack."""
    begun = time.monotonic()
    say(bold("Switchyard: four MCP servers of both protocol eras, one endpoint"))
    install()

    step("1. Four servers, on official SDKs")
    urls, processes = {}, {}
    for name, (venv, sdk) in SERVERS.items():
        command = [VENVS / venv / "bin" / "python", HERE / "servers" / f"{name}.py"]
        process, line = stack.enter_context(started(command, f"the {name} server", folder / f"{name}.log"))
        urls[name], processes[name] = json.loads(line)["url"], process
        say(f"  {name:<9} {urls[name]}   {dim(sdk)}")

    step("2. One gateway, from the YAML in examples/demo/manifests")
    (folder / "manifests").mkdir()
    declared = manifests_into(folder / "manifests", urls)
    command = [SWITCHYARD, "run", "-f", folder / "manifests", "--port", "0", "--admin-port", "0"]
    say(f"  {dim('$ switchyard run -f examples/demo/manifests')}")
    _, line = stack.enter_context(started(command, "the gateway", folder / "gateway.log"))
    url, admin = re.search(r"served at (\S+), admin (\S+)", line).groups()
    status = wait_for_all(admin, SERVERS)
    say(f"  {url}")

    step("3. What a client sees: one list")
    endpoint, owner = Endpoint(url), backend_of(declared)
    tools = endpoint.tools()
    rows = [(t["name"], owner(t["name"]), status[owner(t["name"])]["version"], t.get("title", "")) for t in tools]
    table(("TOOL", "BACKEND", "SPEAKS", "TITLE"), rows)

    step("4. A live change")
    stream = stack.enter_context(endpoint.subscribe())
    say("  subscriptions/listen is open; somebody deploys a tool on the orders server ...")
    changed = time.monotonic()
    print("track_parcel", file=processes["orders"].stdin, flush=True)
    notification = next_message(stream)
    latency_ms = (time.monotonic() - changed) * 1000
    new = sorted({tool["name"] for tool in endpoint.tools()} - {tool["name"] for tool in tools})
    say(f"  {notification['method']} after {latency_ms:.0f} ms; new in the list: {bold(', '.join(new))}")

    step("5. A call, from a 2026-07-28 client to the 2025-11-25 server")
    call = {"name": "tickets__open_ticket", "arguments": {"summary": "Coffee machine says 418", "urgent": True}}
    say(f"  {call['name']} {json.dumps(call['arguments'])}")
    result = endpoint.ask("tools/call", call, {"Mcp-Name": call["name"]})
    say(f"  → {json.dumps(result.get('structuredContent') or result['content'])}")

    step("6. How the backends are, from the admin port")
    status = wait_for_all(admin, SERVERS)
    rows = [
        (name, one["state"], one["era"], one["version"], str(one["tools"]), one["stream"])
        for name, one in status.items()
    ]
    table(("BACKEND", "STATE", "ERA", "VERSION", "TOOLS", "CHANGE STREAM"), rows)
    say(f"\nDone in {time.monotonic() - begun:.1f} s.")
    return url, admin


def keep(url, admin):
    """Say how to connect, and wait."""
    meta = json.dumps({"_meta": META})
    say(f"\n{bold('Everything stays up until Ctrl-C.')}")
    say(f"\n  endpoint   {url}\n  status     {admin}/status   metrics  {admin}/metrics")
    say(f"\n  claude mcp add --transport http switchyard {url}")
    say(
        f"\n  curl -s {url} -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \\\n"
        f"    -H 'MCP-Protocol-Version: {VERSION}' -H 'Mcp-Method: tools/list' \\\n"
        f'    -d \'{{"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {meta}}}\'\n'
    )
    signal.pause()


def main():
    """Run the demo; the exit status says how it went."""
    # Ended from outside as by Ctrl-C: nothing is left running.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts background jobs with it ignored
    if not SWITCHYARD.exists():
        say(f"{SWITCHYARD} is missing: run `make setup` first, then `make demo`")
        return 2
    try:
        with tempfile.TemporaryDirectory(prefix="switchyard-demo-") as folder, ExitStack() as stack:
            url, admin = show(stack, Path(folder))
            if os.environ.get("KEEP") == "1":
                with suppress(KeyboardInterrupt):
                    keep(url, admin)
            else:
                say(f"{dim('KEEP=1 make demo')} keeps it up, and says how to connect.")
    except DemoError as error:
        print(f"\ndemo: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
