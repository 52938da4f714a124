"""``make bench``: run scenarios, print a table for each, write all figures to one JSON file.

Needs Linux, two cores, nginx and wrk (Debian: ``apt-get install nginx-light wrk``).
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench import machine, peers
from bench.machine import ROOT, BenchError
from bench.scenarios import ON_DEMAND, SCENARIOS
from bench.servers import Lab


def main() -> int:
    """Run what is asked for; give 1 when something does not run or an answer is wrong, never for a time."""
    options = _parser().parse_args()
    chosen = {name: scenario for name, scenario in SCENARIOS.items() if name not in ON_DEMAND}
    if options.only:
        chosen = {name: SCENARIOS[name] for name in options.only}
    elif options.peers:
        chosen = {}
    if options.peers:
        chosen["peers"] = peers.run
    try:
        machine.check()
        report: dict[str, Any] = {"machine": machine.description(), "scenarios": {}}
        lab = Lab(
            python=sys.executable if options.quick else machine.lean_python(),
            source=options.source.resolve(),
            rounds=1 if options.quick else options.rounds,
            seconds=1 if options.quick else options.seconds,
            quick=options.quick,
        )
        for name, scenario in chosen.items():
            began = time.monotonic()
            table = scenario(lab)
            print(f"{table}\n  [{name}: {time.monotonic() - began:.0f} s]\n", flush=True)
            report["scenarios"][name] = vars(table)
    except BenchError as error:
        print(f"bench: {error}", file=sys.stderr)
        return 1
    options.json.parent.mkdir(parents=True, exist_ok=True)
    options.json.write_text(json.dumps(report, indent=1) + "\n")
    return 0


def _names(text: str) -> list[str]:
    names = text.split(",")
    if unknown := set(names) - set(SCENARIOS):
        raise argparse.ArgumentTypeError(f"{', '.join(sorted(unknown))}: there are {', '.join(SCENARIOS)}")
    return names


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--only",
        type=_names,
        metavar="NAME,...",
        help=f"of {', '.join(SCENARIOS)} (default: all but {', '.join(ON_DEMAND)})",
    )
    parser.add_argument("--quick", action="store_true", help="see that each scenario runs and answers right")
    parser.add_argument("--peers", action="store_true", help="install other gateways from PyPI and measure their lists")
    parser.add_argument("--rounds", type=int, default=3, help="turns each server takes (default %(default)s)")
    parser.add_argument("--seconds", type=int, default=2, help="length of one turn (default %(default)s)")
    parser.add_argument(
        "--source",
        type=Path,
        default=ROOT / "sidecar",
        metavar="DIR",
        help="measure this sidecar folder instead: another checkout's, to compare",
    )
    parser.add_argument(
        "--json", type=Path, default=ROOT / "bench" / "results" / "bench.json", help="where the figures go"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
