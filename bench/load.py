"""Load by wrk, in turns: every target gets the same requests, one after the other, round by round."""

import json
import statistics
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from bench.machine import LOAD_CORE, BenchError, Process
from bench.messages import Reply, Request
from bench.servers import Lab
from bench.table import Table

_CALLERS: Final = """
local tokens, requests, turn = {%s}, {}, 0
init = function()
  for i, token in ipairs(tokens) do
    wrk.headers["Authorization"] = "Bearer " .. token
    requests[i] = wrk.format()
  end
end
request = function()
  turn = turn %% #requests + 1
  return requests[turn]
end
"""
SIZE_TOLERANCE: Final = 0.02
"""By how much the average answer may differ in size from the right one: digits of the time to live, framing of chunks."""

_SCRIPT: Final = """
wrk.method = "POST"
wrk.body = [==[%s]==]
%s
%s
done = function(summary, latency)
  local e = summary.errors
  io.write(string.format('RESULT{"rate":%%f,"requests":%%d,"bytes":%%d,"p50_ms":%%f,"p99_ms":%%f,"errors":%%d}\\n',
    summary.requests / (summary.duration / 1e6), summary.requests, summary.bytes,
    latency:percentile(50) / 1000, latency:percentile(99) / 1000, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True)
class Target:
    """A server under load."""

    url: str
    what: Request
    process: Process
    """Whose CPU time counts."""
    right: Reply
    """What every answer is like, but for the time to live and the date."""
    tokens: Sequence[str] = ()
    """Callers' bearer tokens, who ask in turns; none: nobody in particular asks."""


@dataclass(frozen=True)
class Sample:
    """One turn of one target."""

    rate: float
    p50_ms: float
    p99_ms: float
    cpu_us: float
    """CPU time of the server for each request."""


def turn(target: Target, clients: int, seconds: int) -> Sample:
    """Load one target once.

    Raises:
        BenchError: an answer was no 200, or not as large as the right one.
    """
    headers = "\n".join(f'wrk.headers["{name}"] = "{value}"' for name, value in target.what.headers.items())
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        callers = _CALLERS % ", ".join(f'"{token}"' for token in target.tokens) if target.tokens else ""
        script.write(_SCRIPT % (target.what.body.decode(), headers, callers))
        script.flush()
        command = ["taskset", "-c", LOAD_CORE, "wrk", "-t1", f"-c{clients}", f"-d{seconds}s", "--timeout", "30s"]
        before = target.process.cpu_s
        done = subprocess.run([*command, "-s", script.name, target.url], check=False, capture_output=True, text=True)
        cpu_s = target.process.cpu_s - before
    if "RESULT" not in done.stdout:
        raise BenchError(f"wrk failed: {done.stderr or done.stdout}")
    said = json.loads(done.stdout[done.stdout.index("RESULT") + 6 :])
    if said["errors"] or not said["requests"]:
        raise BenchError(f"{target.url}: {said['errors']} errors in {said['requests']} requests")
    expected = target.right.wire_bytes * said["requests"]
    unfinished = target.right.wire_bytes * clients  # wrk counts their bytes too
    if not -SIZE_TOLERANCE <= (said["bytes"] - expected) / expected <= SIZE_TOLERANCE + unfinished / expected:
        size = said["bytes"] / said["requests"]
        raise BenchError(f"{target.url}: answers of {size:.0f} bytes, not of {target.right.wire_bytes}")
    return Sample(said["rate"], said["p50_ms"], said["p99_ms"], cpu_s / said["requests"] * 1e6)


def in_turns(lab: Lab, targets: Mapping[str, Target], clients: int) -> dict[str, list[Sample]]:
    """Load the targets in turns; give the samples of each, in order of the rounds."""
    samples: dict[str, list[Sample]] = {name: [] for name in targets}
    for _ in range(lab.rounds):
        for name, target in targets.items():
            samples[name].append(turn(target, clients, lab.seconds))
    return samples


def median(samples: list[Sample]) -> Sample:
    """Each figure's median over the rounds."""
    columns = zip(*(asdict(sample).values() for sample in samples), strict=True)
    return Sample(*(statistics.median(column) for column in columns))


@dataclass(frozen=True)
class Spread:
    """Least, middle and most."""

    least: float
    middle: float
    most: float

    def __str__(self) -> str:
        return f"{self.middle:.2f} ({self.least:.2f}-{self.most:.2f})"


def ratio(ours: list[Sample], theirs: list[Sample], *, by_cpu: bool = False) -> Spread:
    """Our rate as a share of theirs, round by round.

    ``by_cpu``: the rates that a whole core would allow by the CPU time each request took. It holds where wrk or a busy
    machine is what limits the rate.
    """
    if by_cpu:
        shares = [other.cpu_us / mine.cpu_us for mine, other in zip(ours, theirs, strict=True)]
    else:
        shares = [mine.rate / other.rate for mine, other in zip(ours, theirs, strict=True)]
    return Spread(min(shares), statistics.median(shares), max(shares))


def raw(samples: Mapping[str, list[Sample]]) -> dict[str, Any]:
    """All rounds, for the JSON file."""
    return {name: [asdict(sample) for sample in each] for name, each in samples.items()}


def compare(lab: Lab, table: Table, targets: Mapping[str, Target], clients: int, *, of: str) -> None:
    """Load the targets in turns; add a row for each, which says what share it reaches of the one that is named."""
    samples = in_turns(lab, targets, clients)
    table.rounds.append({"clients": clients, **raw(samples)})
    for name, each in samples.items():
        middle = median(each)
        table.add(
            clients=clients,
            server=name,
            lists_per_s=middle.rate,
            p50_ms=middle.p50_ms,
            p99_ms=middle.p99_ms,
            cpu_us_each=middle.cpu_us,
            **{f"of_{of}": str(ratio(each, samples[of]))},
            by_cpu=str(ratio(each, samples[of], by_cpu=True)),
        )
