"""The sidecar with a clock in its event loop: what a pause of the loop is from inside.

A program: ``python -m bench.ticker ARGUMENTS`` is ``switchyard-sidecar ARGUMENTS``; on SIGUSR1 it says the longest pause since
the last time, as one line of JSON on stdout.
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
    last, worst_s = 0.0, 0.0

    def tick() -> None:
        nonlocal last, worst_s
        now = time.monotonic()
        if last:
            worst_s = max(worst_s, now - last - TICK_S)
        last = now
        loop.call_later(TICK_S, tick)

    def tell() -> None:
        nonlocal worst_s
        sys.stdout.write(json.dumps({"worst_ms": worst_s * 1000}) + "\n")
        sys.stdout.flush()
        worst_s = 0.0

    loop.call_soon(tick)
    loop.add_signal_handler(signal.SIGUSR1, tell)
    return loop


if __name__ == "__main__":
    uvloop.new_event_loop = ticking_loop
    sys.exit(main())
