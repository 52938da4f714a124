"""``python -m soak``: run a soak, tell how it goes, and end with status 1 if anything was violated."""

import argparse
import asyncio
import random
import signal
import sys
import tempfile
from pathlib import Path

from soak.judge import Violation
from soak.stage import Report, soak


def main() -> int:
    """Run what the arguments ask for."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None, help="default: another one each time")
    parser.add_argument("--load", type=float, default=1.0, help="how much the clients ask for")
    parser.add_argument("--folder", type=Path, default=None, help="where config and logs are left (default: a new one)")
    options = parser.parse_args()
    seed = random.SystemRandom().randrange(1_000_000) if options.seed is None else options.seed
    folder = options.folder or Path(tempfile.mkdtemp(prefix="soak-"))
    folder.mkdir(parents=True, exist_ok=True)
    print(f"seed {seed}, {options.minutes:g} minutes, everything is left in {folder}", flush=True)
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # as Ctrl-C does: end what was started
    report = asyncio.run(soak(seed, options.minutes * 60, folder, load=options.load, on_violation=_tell))
    print(described(report))
    return 1 if report.counts["violations"] else 0


def _tell(violation: Violation) -> None:
    print(f"VIOLATED after {violation.events[-1:]}: {violation.invariant}: {violation.detail[:500]}", flush=True)


def described(report: Report) -> str:
    """A report for people."""
    lines = [f"seed {report.seed}: {len(report.plan)} events"]
    lines += [f"  {count:8d} {what}" for what, count in sorted(report.counts.items())]
    lines += [f"  p99 of a {what}: {seconds * 1000:.0f} ms" for what, seconds in report.p99s.items()]
    every = max(1, len(report.samples) // 20)
    lines += [
        f"  {sample.at - report.started_at:6.0f} s: {sample.rss_bytes / 2**20:6.1f} MiB, {sample.descriptors} descriptors,"
        f" {sample.tasks} tasks, {sample.subscribers} subscribers"
        for sample in report.samples[::every]
    ]
    for violation in report.violations:
        lines.append(
            f"\n{violation.at - report.started_at:.2f} s: VIOLATED (seed {report.seed}): {violation.invariant}"
        )
        lines.append(f"  {violation.detail}")
        lines += [f"  event: {event}" for event in violation.events]
        lines += [f"  log: {line}" for line in report.sidecar.log_around(violation.at + report.unix_offset)]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
