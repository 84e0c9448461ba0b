"""Kill runs whose cases take several calls at random: no answered call is sent again, and no case is lost."""

from __future__ import annotations

from pathlib import Path

from benches.torture.bounds import Tally
from tests.runs.killed_turns import KINDS, KilledRun

COUNT = 50
_CASES_PER_KILL, _CALLS_PER_CASE = 40, 4
_CASES = {"search": 120, "strategies": 120}
"""Number of cases of each kind in one repeat of `ragbed-mini-en_base`."""


def torture(folder: Path, count: int, seed: int) -> bool:
    """Kill each kind of run many times, with and without the response cache, and compare it with an undisturbed run."""
    held = True
    for kind in KINDS:
        for cached in (False, True):
            name = f"{kind}{'-cached' if cached else ''}"
            repeats = -(-count * _CASES_PER_KILL // _CASES[kind])
            (folder / name).mkdir()
            killed, tally = KilledRun(folder / name, kind, cached, {"repeats": repeats}), Tally(name)
            calls_per_kill = repeats * _CASES[kind] * _CALLS_PER_CASE // count
            for number, problems in enumerate(killed.kill(count, calls_per_kill, seed)):
                tally.add("kills", f"kill {number}", problems)
            tally.add("runs", "the resumed run", killed.finish(count))
            calls = killed.calls()
            print(f"  {len(calls):,} calls, {len(calls) - len(set(calls)):,} of which were in flight at a kill")
            held &= tally.close()
    return held
