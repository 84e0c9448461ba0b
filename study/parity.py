"""Run the unmodified original code and ragbed on the same responses, and compare prompts and labels case by case.

    python -m study parity --code DIR --python FILE --rgb DIR --weights FILE.gguf [--limit 100]
    python -m study parity --code DIR --python FILE --rgb DIR

`--code` is a checkout of RGB's code (commit 65ec39e), and `--python` an interpreter with numpy, PyYAML, requests and
tqdm. The original code also imports torch and transformers; empty modules replace them, because a server needs neither.
With `--weights`, both sides call one llama.cpp server through a proxy that returns the same response to equal requests,
and complete requests are compared. Without it, the original code receives the recorded responses to `code-2024`. Those
runs sent no HTTP requests, so only prompts are compared.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import os
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread
from typing import Any

from ragbed.schema import Case
from ragbed.scoring.code import flagged, label
from study import MODELS, RECORDINGS
from study.cases import match_cases, to_completion
from study.recordings import read_recording

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
            noise=noise, limit=original.limit, temperature=0, max_tokens=_MAX_TOKENS, cache="off", timeout=3600,
            max_connections=1, progress=False, out=Path(folder) / "run",
        )  # fmt: skip
        with open_store(run.folder, create=False) as store:
            return {
                stored.case.item: OurSide(stored.case, stored.completion.reply or "", "") for stored in store.results()
            }


def compare_recorded(original: Original, cache: Path) -> Iterator[dict[str, Any]]:
    """Yield one row per case and model, with the recorded responses."""
    for model in MODELS:
        recording = read_recording(RECORDINGS / f"{model}.rgb-code.recording")
        proxy = ParityProxy(None, cache, _MAX_TOKENS)
        conditions: dict[tuple[str, float], dict[str, OurSide]] = {}
        for case, trial in match_cases(recording, original.rgb):
            if case.noise is not None and trial.outcome != "infeasible":
                body, reply = _body(case), to_completion(case, trial).reply
                message = {"role": "assistant", "content": reply}
                proxy.known[request_hash(body)] = {"choices": [{"index": 0, "message": message}]}
                ours = OurSide(case, reply or "", request_hash(body))
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
    parser.add_argument("--limit", type=int)
    parser.add_argument("--cache", type=Path, default=Path(tempfile.gettempdir()) / "study-parity.jsonl")
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args(arguments)
    original = Original(given.code, given.python, given.rgb, given.limit)
    if given.weights:
        rows, name = compare_live(original, given.weights, given.cache), "live"
    else:
        rows, name = compare_recorded(original, Path(os.devnull)), "recorded"
    found = list(rows)
    path = given.out or RECORDINGS / f"parity-{name}.jsonl.gz"
    text = "".join(json.dumps(row, sort_keys=True) + "\n" for row in found)
    path.write_bytes(gzip.compress(text.encode(), mtime=0))
    equal = [row.get("label_original") == row.get("label_ragbed") for row in found]
    print(f"{len(found)} cases, {sum(equal)} with equal labels")


# The fields that determine the response. The other fields that a side sends are reported, not compared.
COMPARED = ("model", "messages", "temperature", "top_p")


def request_hash(body: Mapping[str, Any]) -> str:
    """Return the hash of the fields of a request that determine the response; 1 and 1.0 are equal."""
    compared = {name: body.get(name) for name in COMPARED}
    compared |= {name: float(body[name]) for name in ("temperature", "top_p")}
    return hashlib.sha256(json.dumps(compared, sort_keys=True, ensure_ascii=False).encode()).hexdigest()


class ParityProxy:
    """A server for both sides, whose URL is `url(SIDE)`.

    Args:
        upstream: URL of a llama.cpp server, and its key. Without it, only known responses are returned.
        cache: File with the responses so far, by hash of the request.
        max_tokens: Maximum number of tokens in a response, for both sides.
    """

    def __init__(self, upstream: tuple[str, str] | None, cache: Path, max_tokens: int) -> None:
        self.requests: list[tuple[str, dict[str, Any]]] = []
        self.known: dict[str, dict[str, Any]] = {}
        self._upstream, self._cache, self._max_tokens, self._lock = upstream, cache, max_tokens, Lock()
        if cache.exists():
            for line in cache.read_text(encoding="utf-8").splitlines():
                key, response = json.loads(line)
                self.known[key] = response
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._make_handler())
        Thread(target=self._server.serve_forever, daemon=True).start()

    def url(self, side: str) -> str:
        """Return the base URL for a side."""
        return f"http://127.0.0.1:{self._server.server_port}/{side}/v1"

    def close(self) -> None:
        """Stop the server."""
        self._server.shutdown()
        self._server.server_close()

    def respond(self, side: str, body: dict[str, Any]) -> dict[str, Any] | None:
        """Return the response to a request, or None if it is unknown and there is no model."""
        key = request_hash(body)
        with self._lock:
            self.requests.append((side, body))
            if key not in self.known and self._upstream is not None:
                self.known[key] = self._call(self._upstream, body)
                with self._cache.open("a", encoding="utf-8") as sink:
                    sink.write(json.dumps([key, self.known[key]], ensure_ascii=False) + "\n")
            return self.known.get(key)

    def _call(self, upstream: tuple[str, str], body: dict[str, Any]) -> dict[str, Any]:
        url, key = upstream
        content = json.dumps({name: body[name] for name in COMPARED} | {"max_tokens": self._max_tokens}).encode()
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
        request = urllib.request.Request(f"{url}/v1/chat/completions", content, headers)
        with urllib.request.urlopen(request, timeout=1800) as answer:
            found: dict[str, Any] = json.load(answer)
        return {name: found[name] for name in ("object", "created", "choices", "usage")}

    def _make_handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._send(404, {"error": {"message": "not found"}})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                response = proxy.respond(self.path.split("/")[1], body)
                if response is None:
                    self._send(404, {"error": {"message": "this request was not recorded"}})
                else:
                    self._send(200, response | {"id": "parity", "model": body["model"]})

            def _send(self, status: int, content: dict[str, Any]) -> None:
                encoded = json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(encoded)))
                self.end_headers()
                self.wfile.write(encoded)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name in the base class
                """Print nothing."""

        return Handler
