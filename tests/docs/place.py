"""A folder in which the commands of a page run, with runs, files, models and servers for the reader's own."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from benches.own_rag import DATA as OWN_DATA
from benches.own_rag import DOCS
from tests.builder.world_site import World, make_world, running_generator
from tests.cli.typed import Done, type_command
from tests.docs.blocks import ROOT

DATA = "ragbed-mini-en_base"
BUNDLED = ROOT / "src" / "ragbed" / "data" / "bundled"
_SCRIPTS = cycle(["oracle", "refuser", "first-doc", "majority", "memory", "gullible", "echo", "last-doc"])
# Examples by the file names that pages use.
_MODULES = {"my_system.py": "plain_rag.py"} | {name: name for name in ("plain_rag.py", "own_rag.py")}
_RGB = {f"{lang}{kind}" for lang in ("en", "zh") for kind in ("", "_refine", "_int", "_fact")}
_SCRIPT = "scripted/majority"  # replaces local models, which take minutes and have tests of their own
# Options set by variables, so that the commands of a page run unchanged on less data.
_FEW = {"RAGBED_LIMIT": "2", "RAGBED_MAX_TOKENS": "4", "RAGBED_TIMEOUT": "30"}


@dataclass
class Readers(World):
    """A model server that is both the generator of a build and a judge."""

    def reply(self, turns: list[str]) -> str:
        return "VERDICT: YES" if "VERDICT" in turns[0] + turns[-1] else super().reply(turns)


@dataclass
class Place:
    """A folder and its environment variables."""

    folder: Path
    environ: dict[str, str]
    world: World
    servers: list[subprocess.Popen[str]] = field(default_factory=list)

    def type(self, words: list[str], environ: dict[str, str], *, whole: bool) -> Done:
        """Run a command of ragbed after creating its input files."""
        self.provide(words)
        settings = {} if whole else _FEW
        words = [_SCRIPT if word.startswith(("llamacpp/", "bundled/")) else word for word in words]
        if words[0] == "run" and not {"-m", "--model"} & set(words):
            words = [*words, "-m", _SCRIPT]
        return type_command(*words, env=settings | environ | self.environ)

    def serve(self, script: str) -> None:
        """Start an example server."""
        words = [sys.executable, str(ROOT / "examples" / script)]
        self.servers.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        out = self.servers[-1].stdout
        assert out is not None
        assert out.readline()  # its port, printed when it listens

    def provide(self, words: list[str]) -> None:
        """Create the input files of a command that no earlier command has created."""
        made = {words[at + 1] for at, word in enumerate(words[:-1]) if word in ("--out", "-o", "--junit")}
        for word in words:
            path = Path(word)
            if word not in made and not path.exists() and not word.startswith("-"):
                self._provide_one(word, path)

    def _provide_one(self, word: str, path: Path) -> None:
        if path.parts[0] == "runs" and len(path.parts) <= 2:
            self._make_runs(path)
        elif path.parts[0] == "builds" and not path.suffix:
            self._copy_items(path / "en_base.jsonl")
        elif word == "handbook":
            shutil.copytree(DOCS, path)
        elif word == "qa.csv":
            shutil.copy(OWN_DATA / word, path)
        elif path.parts[0] == "docs":
            self.world.write_folder(path)
        elif word in _RGB and not list(Path(self.environ["RAGBED_DATA_DIR"]).rglob(f"{word}.json")):
            kind = word.partition("_")[2].replace("refine", "") or "base"
            shutil.copy(BUNDLED / f"ragbed-mini-{word[:2]}_{kind}.jsonl", path)  # a file wins over a name
        elif path.suffix in (".jsonl", ".json") and "labels" not in path.name:
            self._copy_items(path)
        elif word.startswith("http/localhost:8900"):
            self.serve("plain_server.py")

    def _make_runs(self, path: Path) -> None:
        for folder in [path] if len(path.parts) == 2 else [path / "one", path / "two"]:
            words = ("-m", f"scripted/{next(_SCRIPTS)}", "-d", DATA, "-d", "ragbed-mini-en_fact", "--noise", "0,0.4,1")
            done = type_command("run", *words, "--out", str(folder), env=_FEW | self.environ)
            assert done.code == 0, done.err

    def _copy_items(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(BUNDLED / f"{DATA}.jsonl", path)


@contextmanager
def open_place(folder: Path, data: Path) -> Iterator[Place]:
    """Yield a new place with shared data."""
    for name, source in _MODULES.items():
        shutil.copy(ROOT / "examples" / source, folder / name)
    world = Readers(make_world(1, 1, ("en",)).items)
    with running_generator(world) as url:
        environ = {"RAGBED_DATA_DIR": str(data), "RAGBED_CACHE_DIR": str(folder / "cache"), "OPENAI_API_KEY": "none"}
        environ |= {f"{name}_BASE_URL": url for name in ("OPENAI", "VLLM", "OLLAMA", "BEDROCK")}
        environ |= {"AZURE_OPENAI_ENDPOINT": url.removesuffix("/v1")}
        environ |= dict.fromkeys(("AZURE_OPENAI_API_KEY", "AWS_BEARER_TOKEN_BEDROCK"), "none")
        place = Place(folder, environ, world)
        try:
            yield place
        finally:
            for server in place.servers:
                server.terminate()
                server.communicate()
