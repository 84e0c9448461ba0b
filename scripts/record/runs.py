"""One report of several runs: the canonical export of every trial, and every cell of the report.

Together, the runs have all testbeds, both languages, several models, all outcomes, repeats, positions, distractor
conditions, prompting strategies, search episodes, a system with its own retriever and a profile of the original code.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any
from unittest.mock import patch

import ragbed
from ragbed.data.catalog import open_data
from tests.servers.function_model import ModelRequest, function_model

_MINI = [f"ragbed-mini-{lang}_{kind}" for lang in ("en", "zh") for kind in ("base", "int", "fact")]
# The fields of a cell that are its values; the others name it.
_VALUES = (
    "value", "low", "high", "n", "questions", "asked", "errors", "infeasible", "truncated", "filtered", "unsure",
)  # fmt: skip
_SERVER = "openai-api/recorded/m"
# Two of the server's responses; the others are lines of the prompt.
_REFUSAL = "I can not answer the question because of the insufficient information in documents. 信息不足"
_FLAG = "There are factual errors in the provided documents. 文档中有错误。"


@ragbed.system
def _retrieve(case: ragbed.SystemCase) -> dict[str, Any]:
    """Answer with the item's own passages, some of which the corpus does not have if the answer is withheld."""
    items = (item for data in open_data([_MINI[0], _MINI[3]]) for item in data.items())
    found = next([passage.text for passage in item.passages[5:8]] for item in items if item.question == case.question)
    return {"answer": found[0], "contexts": found}


_RUNS: dict[str, dict[str, Any]] = {
    "abilities": {"model": ["scripted/majority", "baseline/lexical", _SERVER], "data": _MINI, "limit": 8},
    "positions": {
        "model": ["scripted/majority", _SERVER], "data": [_MINI[0], _MINI[4]], "limit": 2, "repeats": 2,
        "testbeds": "noise,rejection,integration,no-documents", "positions": "all",
        "distractors": "related,random,fixed", "num_docs": 3, "noise": [0, "2/3", 1],
    },
    "strategies": {
        "model": ["scripted/majority", _SERVER], "data": [_MINI[0], _MINI[3]], "limit": 4, "strategies": "all",
        "testbeds": "noise,rejection", "noise": [0.6, 1],
    },
    "conflict": {
        "model": ["scripted/majority", "scripted/gullible", _SERVER], "data": [_MINI[2], _MINI[5]], "limit": 4,
        "testbeds": "counterfactual,conflict,closed-book", "true_ratio": [0, "1/3", "2/3"], "num_docs": 3,
    },
    "length": {"model": ["baseline/lexical", _SERVER], "data": [_MINI[0], _MINI[3]], "limit": 8, "testbeds": "length"},
    "search": {
        "model": ["scripted/search-once", "scripted/search-gullible", "scripted/search-malformed"], "data": _MINI,
        "limit": 3, "testbeds": "search",
    },
    "own": {"model": _retrieve, "data": [_MINI[0], _MINI[3]], "limit": 8, "testbeds": "own-rag",
        "corpus": "clean,withheld,noisy"},
    "original": {"model": ["scripted/oracle", "scripted/echo"], "data": _MINI, "limit": 5, "profile": "code-2024"},
}  # fmt: skip


def record() -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the trials by run, model, case and repeat, and the cells by run, condition and metric."""
    trials: dict[str, Any] = {}
    cells: dict[str, Any] = {}
    with (
        function_model(respond) as url,
        patch.dict(os.environ, {"RECORDED_BASE_URL": url}),
        tempfile.TemporaryDirectory() as temporary,
    ):
        for name, options in _RUNS.items():
            folder = Path(temporary) / name
            ragbed.run(out=folder, cache="off", progress=False, **options)
            ragbed.export(folder, "jsonl", folder / "export.jsonl", canonical=True, progress=False)
            for line in (folder / "export.jsonl").read_text("utf-8").splitlines():
                trial = json.loads(line)
                trials[f"{name} | {trial['model']} | {trial['case']} | {trial['repeat']}"] = trial
            for cell in ragbed.report(folder).records():
                if cell["metric"] != "seconds":
                    condition = (
                        f"{key}={value}" for key, value in cell.items() if key not in _VALUES and value is not None
                    )
                    cells[" | ".join((name, *condition))] = {key: cell[key] for key in _VALUES if cell[key] is not None}
    return trials, cells


def respond(request: ModelRequest) -> str | tuple[int, object]:
    """Return a response that depends on the prompt alone: a sentence of it, a refusal, a flag, or none at all."""
    prompt = "\n".join(request.turns)
    mood = hashlib.sha256(prompt.encode()).digest()[0]
    sentences = prompt.split("\n")
    text = {0: _REFUSAL, 1: _FLAG}.get(mood % 6, sentences[-1 - mood % len(sentences)])
    if mood < 16:
        return 400, {"error": {"message": "on purpose"}}
    finish = "length" if mood < 32 else "content_filter" if mood < 48 else "stop"
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": len(prompt), "completion_tokens": len(text)}
    return 200, {"choices": [choice], "usage": usage}
