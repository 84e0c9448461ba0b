"""Kill runs at random: acknowledged responses are neither lost nor requested again."""

from __future__ import annotations

import random
import signal
import subprocess
import time
from collections import Counter
from pathlib import Path

from benches.torture.bounds import Tally
from benches.torture.disturbed import Disturbed, stored
from ragbed.runs.status import read_status
from tests.runs.harness import SLOTS, Endpoint, canonical, endpoint_size, serve

COUNT = 200
_CASES_PER_KILL = 100


def torture(folder: Path, count: int, seed: int) -> bool:
    """Kill one run many times, and resume it each time."""
    with serve(folder / "calls", latency_s=0.005) as endpoint:
        return _kill(Disturbed(folder, endpoint, count * _CASES_PER_KILL // 5), count, random.Random(seed))


def _kill(runs: Disturbed, kills: int, draw: random.Random) -> bool:
    """Send SIGKILL, SIGINT and SIGTERM at random moments."""
    run, codes, tally = runs.folder / "killed", Counter[int](), Tally("kills")
    begin = at = endpoint_size(runs.endpoint)
    acknowledged: dict[str, str | None] = {}
    digests: dict[str, str] = {}
    for number in range(kills):
        process = runs.start(run)
        _wait(process, runs.endpoint, draw, 2 * runs.cases // kills)
        process.send_signal(signal.SIGKILL if number % 10 else draw.choice([signal.SIGINT, signal.SIGTERM]))
        codes[process.wait()] += 1
        time.sleep(0.03)
        kept, calls = stored(run), runs.endpoint.calls()
        lost = len(acknowledged.items() - kept.items())
        again = len({digests[name] for name in acknowledged if name in digests} & set(calls[at:]))
        problems = [f"lost: {lost} responses"] * bool(lost) + [f"re-sent: {again} requests"] * bool(again)
        tally.add("kills", f"kill {number}", problems)
        digests |= {name: _digest(reply) for name, reply in kept.items()}
        acknowledged, at = kept, len(calls)
    assert runs.start(run).wait() == 0
    calls = runs.endpoint.calls()[begin:]
    tally.add("runs", "the resumed run", _compare(runs, run, calls, kills))
    print(f"  exit codes {dict(codes)}; {len(calls):,} calls for {runs.cases:,} cases")
    return tally.close()


def _compare(runs: Disturbed, run: Path, calls: list[str], kills: int) -> list[str]:
    """Compare the run with the undisturbed one; only calls in progress at a kill may have been made twice."""
    problems, repeated, named = [], len(calls) - len(set(calls)), read_status(run).maybe_paid_twice
    if canonical(run) != runs.lines:
        problems.append("different: the run is not equal to the undisturbed one")
    if not repeated <= named <= kills * SLOTS:
        problems.append(f"re-sent: {repeated} calls twice; status names {named}, and {kills * SLOTS} were in flight")
    if len(set(calls)) != runs.cases:
        problems.append(f"lost: {len(set(calls))} of {runs.cases} cases were asked")
    return problems


def _wait(process: subprocess.Popen[bytes], endpoint: Endpoint, draw: random.Random, calls: int) -> None:
    """Wait until some calls are answered or, every third time, for a random moment of start-up or planning."""
    if not draw.randrange(3):
        time.sleep(draw.random() * 1.5)
        return
    until = endpoint_size(endpoint) + draw.randrange(calls)
    while endpoint_size(endpoint) < until and process.poll() is None:
        time.sleep(0.001)


def _digest(reply: str | None) -> str:
    """Return the hash under which the endpoint logged the call, which its response contains."""
    return (reply or "").removeprefix("It is ").removesuffix(".")
