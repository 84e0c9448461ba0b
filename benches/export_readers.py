"""Check that RAGAS, RAGChecker and MLflow read what `ragbed export` writes for them, item by item.

    python -m benches export_readers

They bring some 800 MB and want older versions of others, so they are no part of `make test`. RAGChecker is installed
without what it evaluates with (torch and more): its reader needs none of that. Exit code 1 if anything differs.
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

_PACKAGES = ["ragas==0.4.3", "langchain<1", "langchain-core<1", "langchain-community<0.4", "langchain-openai<1"]
"""RAGAS 0.4.3 imports a module that langchain-community has dropped since."""
_MORE = ["mlflow-skinny>=3", "dataclasses-json"]
_BARE = ["ragchecker==0.1.9"]

_READERS = {
    "ragas": """
import json, sys
from ragas import EvaluationDataset
read = EvaluationDataset.from_jsonl(sys.argv[1])
print(json.dumps([[one.user_input, one.response, one.retrieved_contexts, one.reference] for one in read]))
""",
    "ragchecker": """
import importlib.util, json, sys, types
bare = types.ModuleType("ragchecker")  # without what it imports to evaluate
bare.__path__ = importlib.util.find_spec("ragchecker").submodule_search_locations
sys.modules["ragchecker"] = bare
from ragchecker.container import RAGResults
read = RAGResults.from_json(open(sys.argv[1], encoding="utf-8").read()).results
print(json.dumps([[one.query, one.response, [d.text for d in one.retrieved_context], one.gt_answer] for one in read]))
""",
    "mlflow": """
import json, os, sys, tempfile
os.environ |= {"MLFLOW_ALLOW_FILE_STORE": "true", "MLFLOW_DISABLE_TELEMETRY": "true"}
import mlflow
mlflow.set_tracking_uri(f"file:{tempfile.mkdtemp()}/store")
(one,) = json.load(open(sys.argv[1], encoding="utf-8"))["runs"]
with mlflow.start_run(run_name=one["run_name"]) as run:
    mlflow.log_params(one["params"])
    mlflow.set_tags(one["tags"])
    mlflow.log_metrics(one["metrics"])
print(json.dumps(mlflow.get_run(run.info.run_id).data.metrics))
""",
}
"""What is typed in a Python that has the package: from the exported file to what the package read."""


def main() -> int:
    """Asks a little, exports it three times and has it read."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", type=Path, help="one that has the packages; without it, .venv-readers is made")
    python = parser.parse_args().python or _set_up(ROOT / ".venv-readers")
    wrong = 0
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        for data in ("ragbed-mini-en_base", "ragbed-mini-zh_base"):
            asked = ragbed.run("baseline/lexical", data, testbeds="noise,rejection", limit=20, out=folder / data)
            for name, expect in _EXPECTED.items():
                file = folder / f"{data}.{name}"
                _run([sys.executable, "-m", "ragbed", "export", str(folder / data), "--to", name, "-o", str(file)])
                read = json.loads(_run([str(python), "-c", _READERS[name], str(file)]).splitlines()[-1])
                wanted = expect(asked, file)
                wrong += read != wanted
                print(f"{name:<12} {data:<22} {len(wanted):>5} read {'the same' if read == wanted else 'DIFFERENTLY'}")
    return int(wrong > 0)


def _set_up(folder: Path) -> Path:
    python = folder / "bin" / "python"
    if not (folder / ".ready").exists():
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, *_PACKAGES, *_MORE])
        _run([*pip, "--no-deps", *_BARE])
        (folder / ".ready").touch()
    return python


def _samples(asked: ragbed.Run, _: Path) -> list[Any]:
    """Question, reply, documents and reference of every trial, as the run has them."""
    return [
        [
            trial["question"],
            trial["reply"],
            [document["text"] for document in trial["documents"]],
            REFUSAL[trial["lang"]] if trial["expect"] == "refuse" else "; ".join(one[0] for one in trial["answer"]),
        ]
        for trial in asked.trials()
    ]


def _metrics(_: ragbed.Run, file: Path) -> dict[str, float]:
    """Those that were written: MLflow must take all names and give all values back."""
    (one,) = json.loads(file.read_text("utf-8"))["runs"]
    return {name: float(value) for name, value in one["metrics"].items()}


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
