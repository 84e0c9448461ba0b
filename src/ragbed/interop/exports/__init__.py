"""Exports: testbeds and runs in the formats of other tools, one file per target.

To add one: a module with a function that writes, and one line in the table below that fits. A library that a target
needs is imported where it writes, and its absence is one sentence with the install command.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO, TypeAlias

from ragbed.interop.exports import (
    cassette,
    hf,
    inspect,
    jsonl,
    lm_eval,
    mlflow,
    original_code,
    parquet,
    ragas,
    ragchecker,
)
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written

WriteCases: TypeAlias = Callable[[Layout, IO[bytes]], Written]
WriteFolder: TypeAlias = Callable[[Layout, Path, str], Written]
WriteTrials: TypeAlias = Callable[[ExportedRun, IO[bytes]], Written]
WriteRunFolder: TypeAlias = Callable[[ExportedRun, Path], Written]

DATA_FILES: dict[str, WriteCases] = {
    "jsonl": jsonl.write_cases,
    "ragas": ragas.write_cases,
    "ragchecker": ragchecker.write_cases,
}
"""A testbed as one file."""

DATA_FOLDERS: dict[str, WriteFolder] = {
    "inspect": inspect.write_folder,
    "lm-eval": lm_eval.write_folder,
    "hf": hf.write_folder,
}
"""A frozen testbed as a folder, which is filled under another name than it will have."""

RUN_FILES: dict[str, WriteTrials] = {
    "jsonl": jsonl.write_trials,
    "parquet": parquet.write_trials,
    "ragas": ragas.write_trials,
    "ragchecker": ragchecker.write_trials,
    "mlflow": mlflow.write_trials,
    "cassette": cassette.write_trials,
}
"""A run as one file."""

RUN_FOLDERS: dict[str, WriteRunFolder] = {"rgb": original_code.write_folder}
"""A run as a folder."""
