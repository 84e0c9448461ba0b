"""Test full disks, failing writes, tight limits and power failures: a run reports them, and can be resumed completely.

Full disks require permission to mount a small tmpfs; the other tests require `strace` and `prlimit`. Tests that cannot
run on this machine are listed.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import time
from pathlib import Path

from benches.torture.bounds import Tally
from benches.torture.disturbed import Disturbed, stored
from tests.runs.harness import SLOTS, canonical, endpoint_size, serve
from tests.runs.power_loss import TRACED, Disk, after_cut, read_trace

COUNT = 600
_ITEMS = 100
_TRACE = ("strace", "-f", "-qq", "-e", "signal=none")


def torture(folder: Path, count: int, seed: int) -> bool:
    """Disturb small runs; `count` is the number of power failures."""
    with serve(folder / "calls", latency_s=0.005) as endpoint:
        disks = _Disks(Disturbed(folder, endpoint, _ITEMS), Tally("disks"))
        disks.fill_all()
        if shutil.which("strace"):
            disks.fail_all()
            disks.cut_power(count, random.Random(seed))
        else:
            print("  failing writes and power cuts were not tried: there is no strace")
        if shutil.which("prlimit"):
            disks.limit_all()
    return disks.tally.close()


class _Disks:
    def __init__(self, runs: Disturbed, tally: Tally) -> None:
        self.runs, self.tally, self.folder, self.log = runs, tally, runs.folder, runs.folder / "log.txt"

    def fill_all(self) -> None:
        """Fill disks whose size is between a tenth and two and a half times what the run needs."""
        place = self.folder / "disk"
        place.mkdir()
        size = (self.runs.undisturbed / "run.sqlite").stat().st_size
        for share in range(1, 26, 2):
            room = size * share // 10 // 4096 * 4096
            mount = ("mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(place))
            if subprocess.run(mount, check=False, capture_output=True).returncode:
                print("  full disks were not tried: that needs the right to mount")
                return
            try:
                self._fill(place, room)
            finally:
                subprocess.run(["umount", str(place)], check=True)

    def _fill(self, place: Path, room: int) -> None:
        run, before = place / "run", endpoint_size(self.runs.endpoint)
        code = self.runs.start(run, log=self.log).wait()
        time.sleep(0.05)
        sent, kept = endpoint_size(self.runs.endpoint) - before, len(stored(run))
        subprocess.run(["mount", "-o", "remount,size=1g", str(place)], check=True)
        self.tally.add("full disks", f"disk of {room:,} bytes", self._problems(run, code, sent - kept, place))

    def _problems(self, run: Path, code: int, unkept: int, named: Path) -> list[str]:
        """Resume a disturbed run, and compare it with the undisturbed one."""
        text, problems = self.log.read_text("utf-8"), []
        if "Traceback" in text:
            problems.append("traceback: " + text.strip().splitlines()[-1])
        if code not in (0, 1) or (code == 1 and str(named) not in text):
            problems.append(f"message: exit code {code} without the name of the file")
        if unkept > SLOTS:
            problems.append(f"lost: {unkept} responses were not kept, and {SLOTS} were in flight")
        if self.runs.start(run).wait() or canonical(run) != self.runs.lines:
            problems.append("different: the resumed run is not equal to the undisturbed one")
        return problems

    def fail_all(self) -> None:
        """Make the n-th system call of a kind fail, once or from then on, during planning and during calls.

        `strace` counts separately in each thread, and a new run writes more during planning than during calls.
        """
        # A run that was killed after a few responses, so that the next disturbance occurs during calls.
        begun, until = self.folder / "begun", endpoint_size(self.runs.endpoint) + SLOTS
        process = self.runs.start(begun)
        while endpoint_size(self.runs.endpoint) < until:
            time.sleep(0.001)
        process.kill()
        process.wait()
        for call, error in (("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("ftruncate", "EIO")):
            for number in (1, 2, 3, 8, 30, 400, 700, 1000):
                for when in (f"{number}", f"{number}+"):
                    self._fail(call, error, when, None)
                    self._fail(call, error, when, begun)

    def _fail(self, call: str, error: str, when: str, begun: Path | None) -> None:
        run = self.folder / f"failed-{call}-{error}-{when}"
        if begun is not None:
            shutil.copytree(begun, run)
        had, before = len(stored(run)), endpoint_size(self.runs.endpoint)
        words = (*_TRACE, "-o", os.devnull, "-e", f"inject={call}:error={error}:when={when}")
        code = self.runs.start(run, *words, log=self.log).wait()
        sent, kept = endpoint_size(self.runs.endpoint) - before, len(stored(run)) - had
        name = f"{call} {when} {'asking' if begun else 'planning'}: {error}"
        self.tally.add("failing writes", name, self._problems(run, code, sent - kept, run))
        shutil.rmtree(run)

    def limit_all(self) -> None:
        """Allow only a few open files, or little memory."""
        for most in (12, 16, 20, 24, 32, 48):
            self._limit("nofile", most)
        for megabytes in (60, 100, 150, 200, 300):
            self._limit("as", megabytes << 20)

    def _limit(self, name: str, most: int) -> None:
        run = self.folder / f"limited-{name}-{most}"
        code = self.runs.start(run, "prlimit", f"--{name}={most}", log=self.log).wait()
        problems = [] if code in (0, 1, 3) else [f"crash: exit code {code}"]
        # If there is too little memory to load the program at all, the interpreter reports it, not ragbed.
        if "Traceback" in self.log.read_text("utf-8") and (run / "run.sqlite").exists():
            problems.append("traceback: see the log")
        if self.runs.start(run).wait() or canonical(run) != self.runs.lines:
            problems.append("different: the resumed run is not equal to the undisturbed one")
        self.tally.add("limits", f"{name} {most:,}", problems)
        shutil.rmtree(run)

    def cut_power(self, cuts: int, draw: random.Random) -> None:
        """Simulate power failures at random moments: acknowledged responses survive, and every call has its intent
        recorded.
        """
        run, trace = self.folder / "traced", self.folder / "trace.txt"
        words = (*_TRACE, "-y", "-xx", "-s", "100000", "-e", f"trace={TRACED}", "-o", str(trace))
        assert self.runs.start(run, *words).wait() == 0
        events = list(read_trace(trace, run))
        moments, disk = sorted(draw.choices(range(len(events)), k=cuts)), Disk()
        for number, event in enumerate(events):
            disk.take(event)
            for _ in range(moments.count(number)):
                synced, found = after_cut(disk, self.folder / "cut", None), after_cut(disk, self.folder / "cut", draw)
                problems = [] if synced.replies.items() <= found.replies.items() else ["lost: acknowledged responses"]
                if disk.sends > synced.intents or disk.sends - len(synced.replies) > SLOTS:
                    problems.append("order: a call was made before its intent was stored")
                self.tally.add("power cuts", f"after event {number:,}", problems)
        if disk.sends != self.runs.cases:
            self.tally.add("traces", "the traced run", [f"lost: {disk.sends} of {self.runs.cases} cases were asked"])
