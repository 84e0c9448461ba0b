"""Export testbeds and runs in other tools' formats.

To add a format, write a function and register it in one of the tables below. A library that only one format needs is
imported inside that format's function; if it is missing, the error gives the install command.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import IO

from ragbed.interop.exports import archive, corpora, harness_tasks, hf, jsonl, original_code, parquet
from ragbed.interop.exports.frozen import Layout
from ragbed.interop.exports.records_base import ExportedRun, Written

# Formats that write a testbed to a single file.
DATA_FILES: dict[str, Callable[[Layout, IO[bytes]], Written]] = {
    "jsonl": jsonl.write_cases,
}

# Formats that write a frozen testbed to a folder. The folder has a temporary name until it is complete.
DATA_FOLDERS: dict[str, Callable[[Layout, Path, Path], Written]] = {
    "inspect": harness_tasks.write_inspect,
    "lm-eval": harness_tasks.write_lm_eval,
    "hf": hf.write_folder,
    "corpora": corpora.write_corpora,
}

# Formats that write a run to a single file.
RUN_FILES: dict[str, Callable[[ExportedRun, IO[bytes]], Written]] = {
    "jsonl": jsonl.write_trials,
    "parquet": parquet.write_trials,
    "archive": archive.write_run,
}

# Formats that write a run to a folder.
RUN_FOLDERS: dict[str, Callable[[ExportedRun, Path], Written]] = {"rgb": original_code.write_folder}
