"""Does to `ragbed run` what a bad week does: kills, full disks, failing writes, power cuts, limits, damaged files.

    python scripts/torture.py [--kills 200] [--cases 20000]

The endpoint's own log is the oracle of what was asked. Prints one line a trial; exit code 1 if a promise is broken.
Full disks need the right to mount (a small tmpfs); failing writes need strace: where one is missing, it is said.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))


from ragbed.errors import RagbedError, UsageError  # noqa: E402
from ragbed.runner.status import read_status  # noqa: E402
from tests.runner.harness import SLOTS, Endpoint, canonical, endpoint_size, replies, serve  # noqa: E402
from tests.runner.power_loss import TRACED, Disk, after_cut, read_trace  # noqa: E402

RATIOS = "0,0.2,0.4,0.6,0.8"
SMALL = 100
"""Items of the trials that are many; each is asked at five ratios."""


class Torture:
    """One dataset, one endpoint, and runs that are disturbed in many ways."""

    def __init__(self, folder: Path, endpoint: Endpoint, items: int) -> None:
        self.folder, self.endpoint, self.items = folder, endpoint, items
        self.data = folder / f"made-{items}.jsonl"
        _write_items(self.data, items)
        self.cases = 5 * items
        self.environ = os.environ | {"TEST_BASE_URL": endpoint.url}
        assert self.command(folder / f"undisturbed-{items}").wait() == 0
        self.told = canonical(folder / f"undisturbed-{items}")

    def command(self, run: Path, *before: str, log: Path | None = None) -> subprocess.Popen[bytes]:
        """Starts the whole command, as a user does."""
        words = [*before, sys.executable, "-m", "ragbed", "run", "-m", "openai-api/test/m", "-d", str(self.data)]
        words += ["--testbeds", "noise", "--noise", RATIOS, "--max-connections", str(SLOTS), "--no-cache"]
        sink = open(log or os.devnull, "wb")  # noqa: SIM115 - the process has it
        with sink:
            return subprocess.Popen([*words, "--out", str(run)], env=self.environ, stdout=sink, stderr=sink)

    def kill(self, kills: int) -> bool:
        """SIGKILL, SIGINT and SIGTERM at random points; what was acknowledged is never asked again."""
        run, draw, codes = self.folder / "killed", random.Random(kills), Counter[int]()
        begin = endpoint_size(self.endpoint)
        acknowledged: dict[str, str | None] = {}
        digests: dict[str, str] = {}
        again = lost = 0
        at = begin
        for number in range(kills):
            process = self.command(run)
            _wait(process, self.endpoint, draw, 2 * self.cases // kills)
            process.send_signal(signal.SIGKILL if number % 10 else draw.choice([signal.SIGINT, signal.SIGTERM]))
            codes[process.wait()] += 1
            time.sleep(0.03)
            stored = _stored(run)
            calls = self.endpoint.calls()
            lost += len(acknowledged.items() - stored.items())
            again += len({digests[name] for name in acknowledged if name in digests} & set(calls[at:]))
            digests |= {name: _digest_told(reply) for name, reply in stored.items()}
            acknowledged, at = stored, len(calls)
        assert self.command(run).wait() == 0
        calls = self.endpoint.calls()[begin:]
        repeated, twice = len(calls) - len(set(calls)), read_status(run).maybe_paid_twice
        equal = canonical(run) == self.told
        held = equal and not lost and not again and repeated <= twice <= kills * SLOTS and len(set(calls)) == self.cases
        print(f"  ended by: {dict(codes)}; {len(calls):,} calls for {self.cases:,} cases")
        told = f"{lost} acknowledged lost, {again} asked again though acknowledged, {repeated} paid again"
        return _tell(
            f"{kills} kills", held, f"{told} (≤ {twice} named by status ≤ {kills * SLOTS}), equal bytes: {equal}"
        )

    def fill(self, room: int) -> bool:
        """A disk of so many bytes fills up, and is given more room."""
        place = self.folder / "disk"
        place.mkdir(exist_ok=True)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={room}", "tmpfs", str(place)], check=False).returncode:
            return _tell("full disks", True, "not tried: needs the right to mount")
        try:
            before = endpoint_size(self.endpoint)
            log = self.folder / "full.txt"
            code = self.command(place / "run", log=log).wait()
            time.sleep(0.05)
            asked, kept = endpoint_size(self.endpoint) - before, len(_stored(place / "run"))
            subprocess.run(["mount", "-o", "remount,size=1g", str(place)], check=True)
            resumed = self.command(place / "run").wait()
            equal = canonical(place / "run") == self.told
        finally:
            subprocess.run(["umount", str(place)], check=True)
        named = str(place) in log.read_text() and "Traceback" not in log.read_text()
        held = (code == 0 or (code == 1 and named)) and asked - kept <= SLOTS and resumed == 0 and equal
        return _tell(
            f"disk of {room:,} bytes", held, f"exit {code}, asked {asked}, kept {kept}, resumed {resumed}, {equal}"
        )

    def begin(self) -> Path:
        """A run that was killed after a few replies, so that what is done to it next meets the asking."""
        run, until = self.folder / "begun", endpoint_size(self.endpoint) + SLOTS
        process = self.command(run)
        while endpoint_size(self.endpoint) < until:
            time.sleep(0.001)
        process.kill()
        process.wait()
        return run

    def fail(self, call: str, error: str, when: str, begun: Path | None = None) -> bool:
        """The n-th system call of a kind fails, once or from then on: of a new run in planning, of a begun one later.

        `strace` counts in each thread for itself, and a new run plans with more writes than it asks with.
        """
        run, log = self.folder / f"failed-{call}-{error}-{when}", self.folder / "failed.txt"
        if begun is not None:
            shutil.copytree(begun, run)
        had = len(_stored(run))
        inject = f"inject={call}:error={error}:when={when}"
        before = endpoint_size(self.endpoint)
        code = self.command(
            run, "strace", "-f", "-qq", "-e", "signal=none", "-o", os.devnull, "-e", inject, log=log
        ).wait()
        asked, kept, text = endpoint_size(self.endpoint) - before, len(_stored(run)) - had, log.read_text()
        resumed = self.command(run).wait()
        equal = canonical(run) == self.told
        named = str(run) in text and "Traceback" not in text
        held = (code == 0 or (code == 1 and named)) and asked - kept <= SLOTS and resumed == 0 and equal
        shutil.rmtree(run)
        place = "asking" if begun else "planning"
        return _tell(
            f"{call} {when} {place}: {error}", held, f"exit {code}, asked {asked}, kept {kept}, {resumed}, {equal}"
        )

    def limit(self, name: str, most: int) -> bool:
        """A process that may open only so many files, or has only so much memory, says so or manages."""
        run, log = self.folder / f"limited-{name}-{most}", self.folder / "limited.txt"
        code = self.command(run, "prlimit", f"--{name}={most}", log=log).wait()
        kept, text = len(_stored(run)), log.read_text()
        resumed = self.command(run).wait()
        equal = canonical(run) == self.told
        # Too little to load the program at all is the interpreter's to tell, not ours.
        told = "Traceback" not in text or not (run / "run.sqlite").exists()
        shutil.rmtree(run)
        held = code in (0, 1, 3) and told and resumed == 0 and equal
        return _tell(f"{name} {most:,}", held, f"exit {code}, kept {kept}, resumed {resumed}, {equal}")

    def cut_power(self, cuts: int) -> bool:
        """The power goes at random moments of a run: what was acknowledged is there, and every call has its intent."""
        run, trace, draw = self.folder / "traced", self.folder / "trace.txt", random.Random(cuts)
        words = ("strace", "-f", "-qq", "-y", "-xx", "-s", "100000", "-e", "signal=none", "-e", f"trace={TRACED}")
        assert self.command(run, *words, "-o", str(trace)).wait() == 0
        events = list(read_trace(trace, run))
        moments, disk, broken, ahead = sorted(draw.choices(range(len(events)), k=cuts)), Disk(), 0, 0
        for number, event in enumerate(events):
            disk.take(event)
            for _ in range(moments.count(number)):
                synced, found = after_cut(disk, self.folder / "cut", None), after_cut(disk, self.folder / "cut", draw)
                broken += not (synced.replies.items() <= found.replies.items())
                ahead += disk.sends > synced.intents or disk.sends - len(synced.replies) > SLOTS
        told = f"{len(events):,} events; {broken} with acknowledged replies lost, {ahead} with a call before its rows"
        return _tell(f"{cuts} power cuts", not broken and not ahead and disk.sends == self.cases, told)

    def damage(self, times: int) -> bool:
        """Flipped, zeroed and cut bytes: refused, or the same lines."""
        whole = (self.folder / f"undisturbed-{self.items}" / "run.sqlite").read_bytes()
        place, draw, lines = self.folder / "damaged", random.Random(times), sorted(self.told.splitlines())
        place.mkdir()
        ended: Counter[str] = Counter()
        for turn in range(times):
            content = bytearray(whole)
            where, size = draw.randrange(len(content)), draw.choice((1, 8, 512, 4096))
            if turn % 10 == 0:
                del content[where:]
            elif turn % 2:
                content[where] ^= 1 << draw.randrange(8)
            else:
                content[where : where + size] = bytes(len(content[where : where + size]))
            (place / "run.sqlite").write_bytes(content)
            try:
                ended["the same" if sorted(canonical(place).splitlines()) == lines else "DIFFERENT"] += 1
            except RagbedError:
                ended["refused"] += 1
            for rest in place.glob("run.sqlite-*"):
                rest.unlink()
        return _tell(f"{times} damaged files", not ended["DIFFERENT"], str(dict(ended)))


def main() -> None:
    """All trials; exit code 1 if one fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--only", choices=["kills", "disks", "writes", "damage", "limits", "power"])
    told = parser.parse_args()
    # A shell has what it starts in the background ignore Ctrl-C, and what that starts would ignore it too.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as name, serve(Path(name) / "calls", latency_s=0.005) as endpoint:
        held = list(_trials(Path(name), endpoint, told))
    sys.exit(not all(held))


def _trials(folder: Path, endpoint: Endpoint, told: argparse.Namespace) -> Iterator[bool]:
    small = Torture(folder, endpoint, SMALL)
    if told.only in (None, "disks"):
        full = (folder / f"undisturbed-{SMALL}" / "run.sqlite").stat().st_size
        yield from (small.fill(full * share // 10 // 4096 * 4096) for share in range(1, 26, 2))
    if told.only in (None, "writes") and shutil.which("strace"):
        begun = small.begin()
        for call, error in (("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("ftruncate", "EIO")):
            for number in (1, 2, 3, 8, 30, 400, 700, 1000):
                for when in (f"{number}", f"{number}+"):
                    yield from (small.fail(call, error, when, run) for run in (None, begun))
    if told.only in (None, "limits") and shutil.which("prlimit"):
        yield from (small.limit("nofile", most) for most in (12, 16, 20, 24, 32, 48))
        yield from (small.limit("as", most << 20) for most in (60, 100, 150, 200, 300))
    if told.only in (None, "power") and shutil.which("strace"):
        yield small.cut_power(600)
    if told.only in (None, "damage"):
        yield small.damage(1000)
    if told.only in (None, "kills"):
        yield Torture(folder, endpoint, told.cases // 5).kill(told.kills)


def _wait(process: subprocess.Popen[bytes], endpoint: Endpoint, draw: random.Random, calls: int) -> None:
    """Until some calls were answered; every third time until some moment of the start or of planning."""
    if not draw.randrange(3):
        time.sleep(draw.random() * 1.5)
        return
    until = endpoint_size(endpoint) + draw.randrange(calls)
    while endpoint_size(endpoint) < until and process.poll() is None:
        time.sleep(0.001)


def _stored(run: Path) -> dict[str, str | None]:
    """A run that was killed before its file was made holds nothing yet."""
    try:
        return replies(run)
    except UsageError:
        return {}
    except RagbedError:
        if (run / "run.sqlite").stat().st_size:
            raise
        return {}


def _digest_told(reply: str | None) -> str:
    """The endpoint's replies carry the hash under which it logged the call."""
    return (reply or "").removeprefix("It is ").removesuffix(".")


def _write_items(path: Path, count: int) -> None:
    with open(path, "w", encoding="utf-8") as sink:
        for number in range(count):
            # No two cases may have the same prompt: the endpoint tells them apart by it.
            positive, negative = (
                [f"{kind} {place} on matter {number} is {digest}." for place in range(5)]
                for kind, digest in (("Document", hashlib.md5(b"%d" % number).hexdigest()), ("Rumour", "unknown"))
            )
            record = {"id": number, "query": f"What is matter {number}?", "answer": [f"{number}-"]}
            sink.write(json.dumps(record | {"positive": positive, "negative": negative}) + "\n")


def _tell(what: str, held: bool, told: str) -> bool:
    print(f"{what:30} {'ok    ' if held else 'BROKEN'} {told}", flush=True)
    return held


if __name__ == "__main__":
    main()
