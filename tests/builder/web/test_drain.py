"""A signal during a step that reads from an asynchronous stream ends the process without a traceback."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROGRAM = """
import asyncio, os, signal, sys, threading, time
from ragbed.builder.web.ordered_tasks import drain

closed = []

async def numbers():
    try:
        while True:
            await asyncio.gather(*(asyncio.to_thread(time.sleep, 0.01) for _ in range(3)))
            end = time.perf_counter() + 0.01
            while time.perf_counter() < end:  # the signal arrives in this task, in another one or between them
                pass
            yield 1
    finally:
        await asyncio.sleep(0)
        closed.append(True)

def end(*_):
    sys.exit(143)

signal.signal(signal.SIGTERM, end)
timer = threading.Timer(float(sys.argv[1]), os.kill, [os.getpid(), signal.SIGTERM])
try:
    for number, _ in enumerate(drain(numbers())):
        if number == 0:
            timer.start()
finally:
    print(closed)
"""


@pytest.mark.parametrize("delay_ms", [50, 56, 63])
def test_a_signal_closes_the_stream(delay_ms: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, str(delay_ms / 1000)], check=False, capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (143, "[True]\n", "")
