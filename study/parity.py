"""Run the unmodified original code and ragbed on the same responses, and compare prompts and labels case by case.

    python -m study parity --code DIR --python FILE --rgb DIR --weights FILE.gguf [--limit 100]
    python -m study parity --code DIR --python FILE --rgb DIR --cassettes DIR

`--code` is a checkout of RGB's code (commit 65ec39e), and `--python` an interpreter with numpy, PyYAML, requests and
tqdm. The original code also imports torch and transformers; empty modules replace them, because a server needs neither.
With `--weights`, both sides call one llama.cpp server through a proxy that returns the same response to equal requests,
and complete requests are compared. With `--cassettes`, the original code receives the responses that `study/record.sh`
recorded for `code-2024`. Those runs sent no HTTP requests, so only prompts are compared.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragbed.schema import Case
from ragbed.scoring.code import flagged, label
from study import MODELS, RECORDINGS
from study.cassettes import read_recorded
from study.parity_proxy import COMPARED, ParityProxy, request_hash

_REMOTE = "gpt-3.5-turbo"  # the name that the original code sends
_NAMES = {"zh_refine": "zh"}  # the original code accepts only certain dataset names
_MODULES = {
    "torch/__init__.py": "float16 = None\n",
    "transformers/__init__.py": "AutoTokenizer = AutoModel = AutoModelForCausalLM = None\n",
    "transformers/generation.py": "GenerationConfig = None\n",
}
_LIVE = (
    ("zh_refine", "noise", 0.4),
    ("zh_int", "integration", 0.4),
    ("en_fact", "counterfactual", 0.0),
    ("zh_fact", "counterfactual", 0.0),
)
_MAX_TOKENS = 64


@dataclass(frozen=True)
class Original:
    """The original code: its folder, the interpreter that runs it, and the folder with its data files."""

    code: Path
    python: Path
    rgb: Path
    limit: int | None

    def run(self, data: str, noise: float, url: str) -> dict[str, dict[str, Any]]:
        """Return the records that the original code writes, by item."""
        name = _NAMES.get(data, data)
        with tempfile.TemporaryDirectory() as folder:
            work = Path(folder)
            for path, text in _MODULES.items():
                (work / path).parent.mkdir(exist_ok=True)
                (work / path).write_text(text)
            for part in ("evalue.py", "models", "config"):
                (work / part).symlink_to(self.code.absolute() / part)
            lines = (self.rgb / f"{data}.json").read_bytes().splitlines(keepends=True)
            (work / "data").mkdir()
            (work / "data" / f"{name}.json").write_bytes(b"".join(lines[: self.limit]))
            command = [str(self.python.absolute()), "evalue.py", "--dataset", name, "--url", f"{url}/chat/completions"]
            command += ["--temp", "0", "--noise_rate", str(noise)]
            environ = {"PATH": os.environ["PATH"], "PYTHONPATH": str(work), "PYTHONDONTWRITEBYTECODE": "1"}
            subprocess.run(command, cwd=work, env=environ, check=True, capture_output=True)
            [found] = work.glob(f"result-*/prediction_{name}_*correct0.0.json")
            records = [json.loads(line) for line in found.read_text(encoding="utf-8").splitlines()]
        return {str(record["id"]): record for record in records}


@dataclass(frozen=True)
class OurSide:
    """A case with the request that ragbed sent and the response."""

    case: Case
    reply: str
    request: str


def compare_live(original: Original, weights: Path, cache: Path) -> Iterator[dict[str, Any]]:
    """Yield one row per case, with one llama.cpp server for both sides."""
    from ragbed.models.local.gguf import read_weights
    from ragbed.models.local.llama_process import LlamaProcess, LlamaSetup

    process = LlamaProcess.start(LlamaSetup(read_weights(weights), 1, os.environ))
    proxy = ParityProxy((process.url, process.key), cache, _MAX_TOKENS)
    try:
        for data, testbed, noise in _LIVE:
            records = original.run(data, noise, proxy.url("original"))
            ours = _run_ragbed(original, (data, testbed, noise), proxy.url("ragbed"))
            yield from _compare("llama.cpp", (data, noise), (records, ours), proxy)
    finally:
        proxy.close()
        process.stop()


def _run_ragbed(original: Original, condition: tuple[str, str, float], url: str) -> dict[str, OurSide]:
    import ragbed
    from ragbed.runs.store import open_store

    data, testbed, noise = condition
    os.environ["PARITY_BASE_URL"] = url
    with tempfile.TemporaryDirectory() as folder:
        run = ragbed.run(
            f"openai-api/parity/{_REMOTE}", original.rgb / f"{data}.json", profile="code-2024", testbeds=testbed,
            noise=noise, limit=original.limit, temperature=0, max_tokens=_MAX_TOKENS, no_cache=True, timeout=3600,
            max_connections=1, progress=False, out=Path(folder) / "run",
        )  # fmt: skip
        with open_store(run.folder, create=False) as store:
            return {
                stored.case.item: OurSide(stored.case, stored.completion.reply or "", "") for stored in store.results()
            }


def compare_recorded(original: Original, cassettes: Path, cache: Path) -> Iterator[dict[str, Any]]:
    """Yield one row per case and model, with the recorded responses."""
    for model in MODELS:
        recorded = list(read_recorded(cassettes / f"{model}.rgb-code.cassette").trials())
        proxy = ParityProxy(None, cache, _MAX_TOKENS)
        conditions: dict[tuple[str, float], dict[str, OurSide]] = {}
        for case, result in recorded:
            if case.noise is not None:
                body = _body(case)
                message = {"role": "assistant", "content": result.completion.reply}
                proxy.known[request_hash(body)] = {"choices": [{"index": 0, "message": message}]}
                ours = OurSide(case, result.completion.reply or "", request_hash(body))
                conditions.setdefault((case.data, case.noise), {})[case.item] = ours
        for (data, noise), cases in conditions.items():
            records = original.run(data, noise, proxy.url("original"))
            yield from _compare(model, (data, noise), (records, cases), proxy)
        proxy.close()


def _body(case: Case) -> dict[str, Any]:
    """Return a request with a case's prompt; the other fields are those that the original code sends."""
    messages = [{"role": message.role, "content": message.content} for message in case.messages]
    return {"model": _REMOTE, "messages": messages, "temperature": 0.0, "top_p": 1.0}


def _compare(
    model: str,
    condition: tuple[str, float],
    sides: tuple[dict[str, dict[str, Any]], dict[str, OurSide]],
    proxy: ParityProxy,
) -> Iterator[dict[str, Any]]:
    (data, noise), (records, ours) = condition, sides
    sent = {
        side: {_prompt(body): body for name, body in proxy.requests if name == side} for side in ("original", "ragbed")
    }
    for item in sorted(records.keys() | ours.keys(), key=lambda name: (len(name), name)):
        record, own = records.get(item), ours.get(item)
        row: dict[str, Any] = {"model": model, "data": data, "noise": noise, "item": item}
        if own is not None:
            body = sent["ragbed"].get(_prompt(_body(own.case)))
            row["request_ragbed"] = own.request or (request_hash(body) if body else None)
            row |= {"label_ragbed": list(label(own.case, own.reply)), "flag_ragbed": int(flagged(own.case, own.reply))}
            original_body = sent["original"].get(_prompt(_body(own.case)))
            row["request_original"] = request_hash(original_body) if original_body else None
            if body is not None and original_body is not None:
                row["other_ragbed"] = sorted(body.keys() - set(COMPARED))
                row["other_original"] = sorted(original_body.keys() - set(COMPARED))
        if record is not None:
            row |= {"label_original": record["label"], "flag_original": record["factlabel"]}
        yield row


def _prompt(body: dict[str, Any]) -> str:
    return json.dumps(body["messages"], sort_keys=True)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m study parity", description=__doc__)
    for name in ("code", "python", "rgb"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--weights", type=Path)
    parser.add_argument("--cassettes", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "study-parity.jsonl")
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args(arguments)
    original = Original(given.code, given.python, given.rgb, given.limit)
    if given.weights:
        rows, name = compare_live(original, given.weights, given.cache), "live"
    else:
        rows, name = compare_recorded(original, given.cassettes, Path(os.devnull)), "recorded"
    found = list(rows)
    path = given.out or RECORDINGS / f"parity-{name}.jsonl.gz"
    text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in found)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    equal = [row.get("label_original") == row.get("label_ragbed") for row in found]
    print(f"{len(found)} cases, {sum(equal)} with equal labels")
