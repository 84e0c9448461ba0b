"""Kill nodes and drivers of `--engine ray` at random moments of runs: no response is lost or requested twice."""

from __future__ import annotations

import random
import time
from pathlib import Path

from benches.torture.bounds import Tally
from benches.torture.disturbed import Disturbed
from ragbed.runs.status import read_status
from tests.runs.engines.cluster import Nodes, running_cluster, worker_processes
from tests.runs.harness import SLOTS, canonical, endpoint_size, serve

COUNT = 20
_CASES_PER_KILL = 1_000
_REPLICAS = 4


def torture(folder: Path, count: int, seed: int) -> bool:
    """Kill nodes during one run, and the driver during another."""
    tally, draw = Tally("nodes"), random.Random(seed)
    with running_cluster(3) as nodes, serve(folder / "calls") as endpoint:
        runs = Disturbed(folder, endpoint, count * _CASES_PER_KILL // 5)
        for name in ("nodes", "drivers"):
            problems = _disturb(runs, nodes, count, draw, kills_driver=name == "drivers")
            tally.add("runs", f"{count} {name} killed", problems)
    return tally.close()


def _disturb(runs: Disturbed, nodes: Nodes, kills: int, draw: random.Random, *, kills_driver: bool) -> list[str]:
    """Repeatedly kill a node or the driver during a run, and compare the run with the undisturbed one."""
    run = runs.folder / ("drivers" if kills_driver else "nodes")
    words = ("--engine", "ray", "--cluster", nodes.address, "--replicas", f"{_REPLICAS}", "--cpus-per-replica", "0.25")
    first = endpoint_size(runs.endpoint)
    process = runs.start(run, options=words)
    for number in range(kills):
        until = first + int(runs.cases * (number + draw.random()) / kills)
        while endpoint_size(runs.endpoint) < until and process.poll() is None:
            time.sleep(0.02)
        if process.poll() is not None:
            break
        if kills_driver:
            process.kill()
            process.wait()
            process = runs.start(run, options=words)
        else:
            nodes.kill_any(draw)
            nodes.add()
    problems = [f"crash: exit code {code}"] if (code := process.wait()) else []
    calls, named = runs.endpoint.calls()[first:], read_status(run).maybe_paid_twice
    if canonical(run) != runs.lines:
        problems.append("different: the run is not equal to the undisturbed one")
    if len(set(calls)) != runs.cases:
        problems.append(f"lost: {len(set(calls))} of {runs.cases} cases were asked")
    if not len(calls) - len(set(calls)) <= named <= kills * SLOTS:
        problems.append(f"re-sent: {len(calls) - len(set(calls))} calls twice; status names {named}")
    if kills_driver and len(worker_processes()) > _REPLICAS:
        problems.append(f"left: {len(worker_processes())} workers")
    return problems
