"""Plug-ins: the template as a user installs it, and packages that are broken or in each other's way."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ragbed import plugins
from ragbed.builder.search import find_engine
from ragbed.errors import PluginFailed, UnknownName, UsageError
from ragbed.retrieval import open_encoder
from ragbed.testbeds import find_testbed
from tests.cli.typed import type_command

ROOT = Path(__file__).parent.parent
TEMPLATE = ROOT / "examples" / "plugin-template"
DATA = "ragbed-mini-en_base"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The template in a folder of packages, built and installed without a network."""
    made = tmp_path_factory.mktemp("plugin")
    shutil.copytree(TEMPLATE, made / "template")  # building leaves files behind
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    words = [*pip, "--no-build-isolation", "--target", str(made / "packages"), str(made / "template")]
    subprocess.run(words, check=True, capture_output=True)
    return made / "packages"


@pytest.mark.parametrize(
    "file",
    ["examples/plugin-template/README.md", "examples/plugin-template/pyproject.toml", "docs/reference/plugins.md"],
)
def test_documents_name_the_entry_point_groups_that_are_read(file: str) -> None:
    """The template's README named `ragbed.scoring` and `ragbed.retrieval`, which are not read."""
    families = [value for value in vars(plugins).values() if isinstance(value, plugins.PluginFamily)]
    named = re.findall(r"(?:\| `|points\.\")ragbed\.(\w+)", (ROOT / file).read_text("utf-8"))
    assert set(named) == {family.name for family in families}


def _in_its_own_process(packages: Path, *words: str, where: Path) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(packages), *(os.environ.get("PYTHONPATH") or "").split(os.pathsep)])
    surroundings = os.environ | {"PYTHONPATH": path, "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", *words], cwd=where, env=surroundings, capture_output=True, text=True, check=False
    )


def test_the_template_is_installed_listed_run_and_reported(installed: Path, tmp_path: Path) -> None:
    def ragbed(*words: str) -> str:
        done = _in_its_own_process(installed, "ragbed", *words, where=tmp_path)
        assert done.returncode == 0, done.stderr
        return done.stdout

    listed = json.loads(ragbed("doctor", "--json").splitlines()[-1])["plugins"]
    assert [(one["family"], one["name"], one["package"], one["version"], one["state"]) for one in listed] == [
        ("models", "example", "ragbed-example", "0.1.0", "works"),
        ("scorers", "brief", "ragbed-example", "0.1.0", "works"),
        ("testbeds", "single", "ragbed-example", "0.1.0", "works"),
        ("search", "bookmarks", "ragbed-example", "0.1.0", "works"),
        ("encoders", "letters", "ragbed-example", "0.1.0", "works"),
    ]
    ragbed(*f"run -m example/first-sentence -d {DATA} --testbeds single,noise --noise 0 --limit 20 --out run".split())
    assert "Testbed single" in ragbed("report", "run", "--scorer", "brief")
    ragbed("report", "run", "--scorer", "brief", "-f", "html")
    assert "Testbed single" in (tmp_path / "report.html").read_text("utf-8")
    ragbed("diagnose", "run")
    assert "single" in ragbed("compare", "run", "run", "--scorer", "brief")
    cells = json.loads(ragbed("report", "run", "-f", "json", "--scorer", "brief"))
    asked = {(one["table"], one["scorer"]): one["asked"] for one in cells if one["metric"] == "accuracy"}
    assert {asked["single", scorer] for scorer in ("brief", "robust", "code", "paper")} == {20}


@pytest.mark.slow
def test_the_templates_own_tests_pass(installed: Path) -> None:
    words = ("pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", "tests")
    done = _in_its_own_process(installed, *words, where=installed.parent / "template")
    assert "6 passed" in done.stdout, done.stdout


def _write_package(folder: Path, name: str, family: str, part: str, module: str, code: str) -> None:
    """A package as it lies among the installed ones."""
    (folder / f"{module}.py").write_text(code)
    told = folder / f"{name.replace('-', '_')}-1.2.dist-info"
    told.mkdir()
    (told / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.2\n")
    (told / "entry_points.txt").write_text(f"[ragbed.{family}]\n{part} = {module}:part\n")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of packages that Python looks in."""
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def _plugins() -> dict[str, str]:
    listed = json.loads(type_command("doctor", "--json").out.splitlines()[-1])["plugins"]
    return {f"{one['package']} {one['family']} {one['name']}": one["state"] for one in listed}


@pytest.mark.parametrize("code", ["raise ValueError('no such luck')", "import sys; sys.exit('no such luck')"])
def test_one_that_cannot_be_imported_is_named_and_hinders_nobody(code: str, site: Path, tmp_path: Path) -> None:
    _write_package(site, "broken-bits", "models", "broken", f"broken_{len(code)}", code)
    assert (
        "no such luck. Update it, or uninstall it: pip uninstall broken-bits" in _plugins()["broken-bits models broken"]
    )
    used = type_command("run", "-m", "broken/x", "-d", DATA, "--out", str(tmp_path / "broken"))
    assert used.code == 1
    assert used.err.startswith("ragbed: provider 'broken' of broken-bits 1.2 cannot be loaded: ")
    assert "Traceback" not in used.err
    words = ("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "2")
    assert type_command(*words, "--out", str(tmp_path / "good")).code == 0


def test_a_name_of_ragbeds_own_is_never_taken_over(site: Path, tmp_path: Path) -> None:
    _write_package(site, "usurper", "models", "scripted", "usurper", "def part(wish): raise SystemExit")
    assert _plugins()["usurper models scripted"].startswith("not used: scripted is the name of a built-in")
    words = ("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "2")
    assert type_command(*words, "--out", str(tmp_path / "run")).code == 0


def test_two_packages_with_one_name_are_both_named(site: Path) -> None:
    for package in ("left", "right"):
        _write_package(site, package, "encoders", "same", f"same_{package}", "def part(): ...")
    assert _plugins() == {
        "left encoders same": "not used: right also provides same; uninstall one of the packages",
        "right encoders same": "not used: left also provides same; uninstall one of the packages",
    }
    with pytest.raises(UsageError, match=r"encoder 'same' is provided by several packages .left and right"):
        open_encoder("same")


def test_search_engines_and_encoders_come_by_entry_point_too(site: Path) -> None:
    _write_package(site, "finder", "search", "finder", "finder", "def part(setting): ...")
    _write_package(site, "coder", "encoders", "coder", "coder", "def part(): return 'an encoder'")
    assert find_engine("finder").__module__ == "finder"
    assert open_encoder("coder") == "an encoder"  # type: ignore[comparison-overlap]
    with pytest.raises(UnknownName, match=r"unknown search engine 'fynder'\. Did you mean 'finder'"):
        find_engine("fynder")


def test_what_is_no_part_of_its_family_is_refused(site: Path) -> None:
    _write_package(site, "odd", "testbeds", "odd", "odd", "part = 'a text'")
    assert "odd:part is a str that does not define name and cases" in _plugins()["odd testbeds odd"]
    code = "class part: name, cases = 'noise', lambda *_: ()"
    _write_package(site, "double", "testbeds", "double", "double", code)
    with pytest.raises(PluginFailed, match="the testbed registered as 'double' is named 'noise' in its code"):
        find_testbed("double")
    _write_package(site, "nothing", "encoders", "nothing", "nothing", "")
    with pytest.raises(PluginFailed, match="AttributeError: module 'nothing' has no attribute 'part'"):
        open_encoder("nothing")


_MODEL = """
from ragbed.schema import Completion

class Model:
    name, concurrency, advice = "wild/x", 4, ""
    async def complete(self, case, repeat=0):
        if case.item.endswith("1"):
            raise LookupError("lost")
        return "a text" if case.item.endswith("2") else Completion(outcome="ok", reply="who knows")
    def request(self, case): return case.case.encode()
    async def identity(self): return ""
    async def close(self): ...

class Usurper(Model):
    name = "openai/gpt-4o"

def part(wish): return {"x": Model(), "usurper": Usurper(), "y": 7}[wish.model]
"""


def test_a_model_that_raises_or_gives_something_else_has_errors_and_no_wrong_numbers(
    site: Path, tmp_path: Path
) -> None:
    _write_package(site, "wild", "models", "wild", "wild", _MODEL)
    words = ("-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "12", "--cache", "off", "--json")
    done = type_command("run", "-m", "wild/x", *words, "--out", str(tmp_path / "run"))
    assert done.code == 3
    (cell,) = json.loads(done.out.splitlines()[-1])["cells"]
    assert (cell["asked"], cell["error"], cell["ok"]) == (12, 3, 9)
    errors = type_command("export", str(tmp_path / "run"), "--to", "jsonl", "-o", "-").out
    assert "protocol: complete() returned an invalid Completion: Expected `object`, got `str`" in errors
    assert "server: LookupError: lost" in errors
    odd = type_command("run", "-m", "wild/y", *words, "--out", str(tmp_path / "odd"))
    assert odd.code == 1
    assert "provider 'wild' returned a int, which is not a model because it lacks name, concurrency" in odd.err
    lost = type_command("run", "-m", "wild/z", *words, "--out", str(tmp_path / "lost"))
    assert lost.err == "ragbed: provider 'wild' failed to open 'z': KeyError: 'z'\n"
    usurper = type_command("run", "-m", "wild/usurper", *words, "--out", str(tmp_path / "usurper"))
    assert "provider 'wild' returned a model named 'openai/gpt-4o', but the name must start with wild/." in usurper.err


@pytest.mark.parametrize(
    ("method", "error"),
    [
        (
            "async def complete(self, case, repeat=0): return Completion(outcome='fine', reply='Paris')",
            "protocol: complete() returned an invalid Completion: Invalid enum value 'fine' - at `$.outcome`",
        ),
        (
            "async def complete(self, case, repeat=0): return Completion(outcome='ok', reply=7)",
            "protocol: complete() returned an invalid Completion: Expected `str | null`, got `int` - at `$.reply`",
        ),
    ],
)
def test_an_invalid_outcome_is_an_error_of_its_case_and_does_not_damage_the_run(
    method: str, error: str, site: Path, tmp_path: Path
) -> None:
    code = f"{_MODEL}\nclass Loose(Model):\n    name = 'loose/x'\n    {method}\ndef part(wish): return Loose()"
    _write_package(site, "loose", "models", "loose", f"loose_{len(method)}", code)
    words = ("-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "2", "--cache", "off")
    assert type_command("run", "-m", "loose/x", *words, "--out", str(tmp_path / "run")).code == 3
    lines = type_command("export", str(tmp_path / "run"), "--to", "jsonl", "-o", "-").out.splitlines()
    assert [json.loads(line)["error"] for line in lines] == [error, error]


def test_a_model_without_concurrency_is_refused(site: Path, tmp_path: Path) -> None:
    code = f"{_MODEL}\nclass Idle(Model):\n    name, concurrency = 'idle/x', 0\ndef part(wish): return Idle()"
    _write_package(site, "idle", "models", "idle", "idle", code)
    done = type_command("run", "-m", "idle/x", "-d", DATA, "--limit", "1", "--out", str(tmp_path / "run"))
    assert done.code == 1
    assert "returned a model with the concurrency 0, but it must be an integer of at least 1." in done.err


@pytest.mark.parametrize(
    ("spoilt", "said"),
    [
        ("def request(self, case): raise LookupError('lost')", f"request() on {DATA}/"),
        ("def request(self, case): return 'a text'", "TypeError: memoryview: a bytes-like object is required"),
        ("async def identity(self): raise LookupError('lost')", "identity(): LookupError: lost"),
        ("def identity(self): return 'a text'", "identity(): TypeError"),
    ],
)
def test_a_model_that_cannot_say_what_it_sends_or_is_ends_the_run_with_its_name(
    spoilt: str, said: str, site: Path, tmp_path: Path
) -> None:
    module = f"spoilt_{len(spoilt)}"
    code = f"{_MODEL}\nclass Spoilt(Model):\n    name = 'spoilt/x'\n    {spoilt}\ndef part(wish): return Spoilt()"
    _write_package(site, "spoilt", "models", "spoilt", module, code)
    words = ("-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "3", "--out", str(tmp_path / "run"))
    done = type_command("run", "-m", "spoilt/x", *words)
    assert done.code == 1
    assert done.err.splitlines()[-1].startswith("ragbed: provider 'spoilt' failed in ")
    assert said in done.err
    assert "Traceback" not in done.err


def test_a_scorer_that_raises_is_named_with_the_case(site: Path, tmp_path: Path) -> None:
    _write_package(site, "rash", "scorers", "rash", "rash", "def part(case, reply): raise KeyError('grade')")
    words = ("run", "-m", "scripted/oracle", "-d", DATA, "--testbeds", "noise", "--noise", "0", "--limit", "2")
    assert type_command(*words, "--out", str(tmp_path / "run")).code == 0
    done = type_command("report", str(tmp_path / "run"), "--scorer", "rash")
    assert done.code == 1
    assert done.err.startswith(f"ragbed: scorer 'rash' failed on case {DATA}/")
    assert done.err.rstrip().endswith("KeyError: 'grade'")
    assert type_command("report", str(tmp_path / "run"), "--scorer", "rsh").code == 2
