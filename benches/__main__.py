"""Run a benchmark by name, or list all benchmarks.

    python -m benches NAME [OPTION …]

docs/project/benchmarks.md states the figures of the docs, with the command for each.
"""

from __future__ import annotations

import ast
import os
import sys
from importlib import import_module

from benches import ROOT

# Each module has a `main` function, and the first line of its docstring describes what it measures.
MEMBERS = {
    "build_items": "benches.build_items",
    "build_oracle": "benches.build_oracle",
    "core": "benches.core",
    "full_build": "benches.full_build",
    "gpu": "benches.gpu",
    "judge": "benches.judge",
    "notebooks": "benches.notebooks",
    "own_rag": "benches.own_rag",
    "planted_defects": "benches.planted_defects",
    "report": "benches.report",
    "run": "benches.run",
    "score": "benches.score",
    "scorer": "benches.scorer",
    "scorer_calibrate": "benches.scorer_calibrate",
    "scorer_train": "benches.scorer_train",
    "search": "benches.search",
    "sequential": "benches.sequential",
    "stats_coverage": "benches.stats_coverage",
    "structure": "benches.structure",
    "synth_quality": "benches.synth_quality",
    "torture": "benches.torture.__main__",
    "viewer": "benches.viewer",
}
# Their CPU time must not depend on the number of cores.
SINGLE_THREADED = ("full_build",)


def main() -> int | None:
    """Run the benchmark named on the command line."""
    name, options = sys.argv[1] if len(sys.argv) > 1 else None, sys.argv[2:]
    if name is None or name in {"-h", "--help"}:
        print("usage: python -m benches NAME [OPTION …]\n")
        for known, module_name in MEMBERS.items():
            print(f"{known:20} {describe(module_name)}")
        return None
    if name not in MEMBERS:
        sys.exit(f"{name} is not a benchmark; choose from {', '.join(MEMBERS)}")
    if name in SINGLE_THREADED:  # numpy reads the variable only once, when it is imported
        os.environ["OPENBLAS_NUM_THREADS"] = "1"
    sys.argv = [f"python -m benches {name}", *options]
    try:
        module = import_module(MEMBERS[name])
    except ModuleNotFoundError as error:
        sys.exit(f"{name} needs the package {error.name}, which is not installed in this environment")
    result: int | None = module.main()
    return result


def describe(module: str) -> str:
    """Return the first line of a module's docstring, without loading the module."""
    path = ROOT / f"{module.replace('.', '/')}.py"
    documentation = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
    return documentation.partition("\n")[0]


if __name__ == "__main__":
    sys.exit(main())
