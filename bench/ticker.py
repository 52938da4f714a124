"""The sidecar with a clock in its event loop: what a pause of the loop is from inside.

A program: ``python -m bench.ticker ARGUMENTS`` is ``switchyard-sidecar ARGUMENTS``; on SIGUSR1 it says the longest pause since
the last time, and the most CPU that the loop's thread took between two ticks, as one line of JSON on stdout. A pause has in
it what the machine gave to others, and other threads; the CPU time has not.
"""

import json
import signal
import sys
import time
from typing import Final

import uvloop

from switchyard_sidecar.main import main

TICK_S: Final = 0.001

_new_loop: Final = uvloop.new_event_loop


def ticking_loop() -> uvloop.Loop:
    """A loop as the sidecar makes them, with a clock in it."""
    loop = _new_loop()
    last, last_cpu = time.monotonic(), time.thread_time()
    worst_s = worst_cpu_s = 0.0

    def tick() -> None:
        nonlocal last, last_cpu, worst_s, worst_cpu_s
        now, cpu = time.monotonic(), time.thread_time()
        worst_s = max(worst_s, now - last - TICK_S)
        worst_cpu_s = max(worst_cpu_s, cpu - last_cpu)
        last, last_cpu = now, cpu
        loop.call_later(TICK_S, tick)

    def tell() -> None:
        nonlocal worst_s, worst_cpu_s
        sys.stdout.write(json.dumps({"pause_ms": worst_s * 1000, "cpu_ms": worst_cpu_s * 1000}) + "\n")
        sys.stdout.flush()
        worst_s = worst_cpu_s = 0.0

    loop.call_soon(tick)
    loop.add_signal_handler(signal.SIGUSR1, tell)
    return loop


if __name__ == "__main__":
    uvloop.new_event_loop = ticking_loop
    sys.exit(main())
