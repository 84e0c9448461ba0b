"""The local engine: work starts in this process and continues in several, in order."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from ragbed.builder.build_context import Pool
from ragbed.errors import DataError, RagbedError
from ragbed.runs.engines.local import LocalEngine
from ragbed.schema import Passage
from tests.cli.typed import type_command


def _tell(number: int) -> tuple[int, int]:
    return number, os.getpid()


@pytest.fixture(scope="module")
def engine() -> Iterator[LocalEngine]:
    """An engine that starts its workers at once; they are shared, because they take seconds to start."""
    with closing(LocalEngine(2, alone_s=0)) as started:
        yield started


def test_short_work_stays_in_this_process() -> None:
    with closing(LocalEngine(4)) as engine:
        assert set(engine.spread(_tell, range(9))) == {(number, os.getpid()) for number in range(9)}


def test_long_work_goes_to_others_and_comes_back_in_order(engine: LocalEngine) -> None:
    told = list(engine.spread(_tell, range(50)))
    assert [number for number, _ in told] == list(range(50))
    assert len({process for _, process in told[1:]} - {os.getpid()}) in (1, 2)


def test_a_script_without_a_main_guard_is_not_started_again_by_the_workers(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "from ragbed.runs.engines.local import LocalEngine\n"
        "print('started')\n"
        "print(list(LocalEngine(2, alone_s=0).spread(abs, range(-3, 0))))\n"
    )
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout, done.stderr) == ("started\n[3, 2, 1]\n", "")


def test_no_more_is_taken_than_is_needed(engine: LocalEngine) -> None:
    taken = []

    def jobs() -> Iterator[int]:
        for number in range(1000):
            taken.append(number)
            yield number

    results = engine.spread(_tell, jobs())
    for _ in range(10):
        next(results)
    assert len(taken) < 20
    results.close()  # type: ignore[attr-defined]  # it is a generator


def _fail(number: int) -> int:
    if number == 2:  # the first job runs in this process
        raise DataError("run.sqlite", f"case {number} is damaged")
    return number


def test_an_error_comes_back_as_it_was_raised(engine: LocalEngine) -> None:
    with pytest.raises(DataError, match="case 2 is damaged"):
        list(engine.spread(_fail, range(3)))
    back = pickle.loads(pickle.dumps(DataError("a.jsonl", "is empty", line=3)))
    assert (str(back), back.path, back.line) == ("a.jsonl:3: is empty", "a.jsonl", 3)


def _exit(number: int) -> int:
    if number == 2:
        os._exit(9)
    return number


def test_a_worker_that_exits_is_reported_and_the_engine_can_be_used_again(engine: LocalEngine) -> None:
    with pytest.raises(RagbedError, match=r"a worker process exited .* rerun the same command"):
        list(engine.spread(_exit, range(5)))
    assert list(engine.spread(abs, range(-5, 0))) == [5, 4, 3, 2, 1]


def test_workers_end_with_a_parent_that_is_killed() -> None:
    code = (
        "import time; from ragbed.runs.engines.local import LocalEngine\n"
        "if __name__ == '__main__':\n"
        "    for at, _ in enumerate(LocalEngine(2, alone_s=0).spread(time.sleep, [0.01] * 100_000)):\n"
        "        if at == 9: print('at work', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        assert parent.stdout.readline() == b"at work\n"
        parent.kill()
        parent.communicate(timeout=30)  # ends when all processes, including workers, have closed the pipe


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--engine", "ray"], "--engine ray requires a cluster. Start one with `ray start --head`"),
        (["--engine", "ray", "--cluster", "127.0.0.1:1"], "there is no cluster at 127.0.0.1:1 (Connection refused)"),
        (["--engine", "ray", "--cluster", "ray://head:10001"], "is not the address of a head node"),
        (["--engine", "ray", "--cluster", "127.0.0.1:99999"], "there is no cluster at 127.0.0.1:99999"),
    ],
)
def test_impossible_options_are_refused_immediately(words: list[str], told: str) -> None:
    done = type_command("run", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", *words)
    assert (done.code, done.out, told in done.err) == (2, "", True), done.err


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    done = type_command("run", "-m", "scripted/oracle", "-d", "ragbed-mini-en_base", "--engine", "ray")
    assert (done.code, "pip install 'ragbed[ray]'" in done.err) == (2, True), done.err


def test_a_record_that_comes_back_is_written_as_before() -> None:
    """msgspec recognises default values by identity, which a copy does not have."""
    for record in (Passage(text="a \ud800", stance="supports"), Passage(text="b", stance="distracts", kind="partial")):
        back = pickle.loads(pickle.dumps(record))
        assert back == record
        assert ("kind" in _told(back)) is ("kind" in _told(record))
    pool = Pool(question="q", passages=(Passage(text="a", stance="supports"),))
    assert msgspec.json.encode(pickle.loads(pickle.dumps(pool))) == msgspec.json.encode(pool)


def _told(record: Passage) -> str:
    return repr(msgspec.to_builtins(record))
