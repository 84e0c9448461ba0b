"""Check that RAGAS, RAGChecker and MLflow read the files written by `ragbed export`, item by item.

    python -m benches export_readers

The packages need about 800 MB and older versions of others, so they are not part of `make test`. RAGChecker is
installed without the dependencies of its evaluation (torch and others). Exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ragbed
from benches import ROOT
from ragbed.testbeds.prompts import REFUSAL

# RAGAS 0.4.3 imports a module that was removed from newer versions of langchain-community.
_PACKAGES = ["ragas==0.4.3", "langchain<1", "langchain-core<1", "langchain-community<0.4", "langchain-openai<1"]
_OTHER_PACKAGES = ["mlflow-skinny>=3", "dataclasses-json"]
_WITHOUT_DEPENDENCIES = ["ragchecker==0.1.9"]

# Programs that read an exported file with a package and print its contents.
_READERS = {
    "ragas": """
import json, sys
from ragas import EvaluationDataset
read = EvaluationDataset.from_jsonl(sys.argv[1])
print(json.dumps([[s.user_input, s.response, s.retrieved_contexts, s.reference] for s in read]))
""",
    "ragchecker": """
import importlib.util, json, sys, types
bare = types.ModuleType("ragchecker")  # without the imports of its evaluation
bare.__path__ = importlib.util.find_spec("ragchecker").submodule_search_locations
sys.modules["ragchecker"] = bare
from ragchecker.container import RAGResults
read = RAGResults.from_json(open(sys.argv[1], encoding="utf-8").read()).results
print(json.dumps([[r.query, r.response, [d.text for d in r.retrieved_context], r.gt_answer] for r in read]))
""",
    "mlflow": """
import json, os, sys, tempfile
os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
import mlflow
mlflow.set_tracking_uri(f"file:{tempfile.mkdtemp()}/store")
(exported,) = json.load(open(sys.argv[1], encoding="utf-8"))["runs"]
with mlflow.start_run(run_name=exported["run_name"]) as run:
    mlflow.log_params(exported["params"])
    mlflow.set_tags(exported["tags"])
    mlflow.log_metrics(exported["metrics"])
print(json.dumps(mlflow.get_run(run.info.run_id).data.metrics))
""",
}


def main() -> int:
    """Run a small evaluation, export it in three formats and read the files."""
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--python", type=Path, help="interpreter with the packages; by default, .venv-readers is created"
    )
    python = parser.parse_args().python or _create_environment(ROOT / ".venv-readers")
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        for data in ("ragbed-mini-en_base", "ragbed-mini-zh_base"):
            run = ragbed.run("baseline/lexical", data, testbeds="noise,rejection", limit=20, out=folder / data)
            for name, expect in _EXPECTED.items():
                file = folder / f"{data}.{name}"
                _run([sys.executable, "-m", "ragbed", "export", str(folder / data), "--to", name, "-o", str(file)])
                read = json.loads(_run([str(python), "-c", _READERS[name], str(file)]).splitlines()[-1])
                expected = expect(run, file)
                wrong += read != expected
                print(f"{name:<12} {data:<22} {len(expected):>5} read: {'equal' if read == expected else 'DIFFERENT'}")
    return int(wrong > 0)


def _create_environment(folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *_PACKAGES, *_OTHER_PACKAGES])
        _run([*pip, "--no-deps", *_WITHOUT_DEPENDENCIES])
        (folder / ".ready").touch()
    return python


def _samples(run: ragbed.Run, _: Path) -> list[Any]:
    """Return the question, response, documents and reference of every trial in a run."""
    return [
        [
            trial["question"],
            trial["reply"],
            [document["text"] for document in trial["documents"]],
            REFUSAL[trial["lang"]]
            if trial["expect"] == "refuse"
            else "; ".join(aliases[0] for aliases in trial["answer"]),
        ]
        for trial in run.trials()
    ]


def _metrics(_: ragbed.Run, file: Path) -> dict[str, float]:
    """Return the exported metrics, after checking that MLflow accepts all names and returns all values."""
    (exported,) = json.loads(file.read_text("utf-8"))["runs"]
    return {name: float(value) for name, value in exported["metrics"].items()}


_EXPECTED: dict[str, Callable[[ragbed.Run, Path], Any]] = {
    "ragas": _samples,
    "ragchecker": _samples,
    "mlflow": _metrics,
}


def _run(words: list[str]) -> str:
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words[:2])} … failed:\n{done.stderr}")
    return done.stdout
