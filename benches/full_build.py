"""Measure the CPU time and memory of every step in a complete build of 10,000 pages.

    python -m benches full_build [--pages 10000] [--folder DIR]

Pages of synthetic news, half of them Chinese, are written as HTML with menus and teasers around 550 tokens of text.
They are read, indexed by words and by the static encoder, searched, ranked, labelled and turned into items of the
paper's sizes. A generator in this process that knows the synthetic data replaces the model, so that no model time is
measured. Memory is the total for all processes, sampled twice a second.
"""

from __future__ import annotations

import argparse
import re
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from datetime import date
from html import escape
from pathlib import Path

from ragbed.builder.build_context import Build
from ragbed.builder.funnel import compare_delivery
from ragbed.builder.model_calls import Request
from ragbed.builder.pipeline import Done, run_steps
from ragbed.builder.recipe import Recipe as BuildRecipe
from ragbed.builder.recipe import RecipeCounts, RecipePools, RecipeQuestions, RecipeRanking, RecipeSource
from ragbed.schema import Case, Completion, Lang
from ragbed.synth import SynthSpec, make_items
from ragbed.text import split_sentences

MEMORY_MB, CPU_MS = 500, 25  # per page
DOCUMENTS = 12  # documents per event, half of which contain its answer
TOKENS = 575
LANGS: tuple[Lang, ...] = ("en", "zh")
MARK = {
    "en": "Filed as {}.",
    "zh": "稿号{}。",
}  # included in every text, so that the generator need not store all texts
_FILED = {"en": re.compile(r"Filed as (\d+)\."), "zh": re.compile(r"稿号(\d+)。")}


def main() -> None:
    """Build, and print the table; exit with code 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pages", type=int, default=10_000)
    parser.add_argument("--folder", type=Path, help="folder for temporary pages and builds")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        sys.exit(not _build(Path(folder), options.pages))


def _build(folder: Path, pages: int) -> bool:
    """Write pages, build a dataset from them, print the cost of every step, and return whether the targets are met."""
    for lang in LANGS:
        events = pages // DOCUMENTS // len(LANGS)
        for number, item in enumerate(make_items(_recipe(lang), "base", 0, events)):
            _KNOWN[lang, number] = item.question, item.answer[0]
            inner = folder / "pages" / lang / str(number // 500)
            inner.mkdir(parents=True, exist_ok=True)
            for place, passage in enumerate(item.passages):
                text = f"{passage.text} {MARK[lang].format(number)}"
                (inner / f"{number}-{place}.html").write_text(_page(lang, text, passage.date or ""), "utf-8")
    recipe = BuildRecipe(
        name="whole",
        generator="synthetic/generator",
        sources=(RecipeSource(kind="folder", place=str(folder / "pages")),),
        wanted=RecipeCounts(base=300, integration=100),
        questions=RecipeQuestions(per_section=1, surplus=1.5),
        ranking=RecipeRanking(encoder="bm25"),
        pools=RecipePools(supports=2),
    )
    watch, total_s, generator = _Watch(), 0.0, _Generator()
    build = Build(folder / "build", recipe, date(2026, 11, 15), generator.ask)

    print(f"{'step':<14}{'in':>10}{'out':>10}{'CPU s':>8}{'s':>8}{'MB':>6}")

    def tell(name: str, done: Done, _: bool) -> None:
        nonlocal total_s
        cpu_s, clock, mb = watch.lap()
        total_s += cpu_s
        print(f"{name:<14}{done.entered:>10,}{done.made:>10,}{cpu_s:>8.1f}{clock:>8.1f}{mb:>6.0f}", flush=True)

    with watch:
        state = run_steps(build, None, tell)
    print(*(f"{one.file}: {one.made} of {one.wanted}" for one in compare_delivery(build, state)), sep=", ")
    cpu_ms = 1000 * (total_s - generator.cpu_s) / pages
    print(f"CPU per page: target ≤ {CPU_MS} ms, measured {cpu_ms:.1f} ms")
    print(f"memory, all processes: target ≤ {MEMORY_MB} MB, measured {watch.most_mb:.0f} MB")
    return cpu_ms <= CPU_MS and watch.most_mb <= MEMORY_MB


def _recipe(lang: Lang) -> SynthSpec:
    half = DOCUMENTS // 2
    return SynthSpec(seed=5, lang=lang, supports=half, distractors=DOCUMENTS - half, tokens=TOKENS, perturbations=())


def _page(lang: Lang, text: str, day: str) -> str:
    menu = "".join(f"<li><a href='/s/{n}'>{'Section' if lang == 'en' else '栏目'} {n}</a></li>" for n in range(40))
    more = "Read more about this" if lang == "en" else "阅读更多相关内容"
    teasers = "".join(f"<div class='teaser'><a href='/a/{n}'><h3>{more} {n}</h3></a></div>" for n in range(30))
    style = "".join(f".c{n}{{margin:{n}px}}" for n in range(200))
    head = f"<meta charset='utf-8'><title>News</title><meta name='date' content='{day}'><style>{style}</style>"
    body = f"<nav><ul>{menu}</ul></nav><article><p>{escape(text)}</p></article><aside>{teasers}</aside>"
    return f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"


# The question and the spellings of its answer by event, so that generating the items again is not part of the build.
_KNOWN: dict[tuple[Lang, int], tuple[str, tuple[str, ...]]] = {}


class _Generator:
    """A stand-in for a model that knows the synthetic data and answers every prompt in a build."""

    def __init__(self) -> None:
        self._asked: dict[str, tuple[str, ...]] = {}  # answers by question
        self.cpu_s = 0.0

    def ask(self, request: Request) -> dict[str, Completion]:
        """Return the responses to all prompts; see `Ask`."""
        started = time.process_time()
        replies = {case.case: self._reply(request.task, case) for case in request.cases}
        self.cpu_s += time.process_time() - started
        return {name: Completion(outcome="ok", reply=reply) for name, reply in replies.items()}

    def _reply(self, task: str, case: Case) -> str:
        prompt, zh = case.messages[0].content, case.lang == "zh"
        if task == "questions":
            return self._question(case.lang, prompt)
        if task in ("clear", "states"):
            return "yes"
        if task == "reader":
            aliases = self._asked[case.question]
            return next((alias for alias in aliases if alias in prompt), "不详" if zh else "unknown")
        if task == "combinations":
            first, second = sorted((one for one in self._asked if one in prompt), key=prompt.index)
            return f"问题：{first.rstrip('？')}，{second}" if zh else f"Question: {first.rstrip('?')}, and {second}"
        return "不知道。" if zh else "I do not know."

    def _question(self, lang: Lang, prompt: str) -> str:
        (number,) = _FILED[lang].findall(prompt)
        question, aliases = _KNOWN[lang, int(number)]
        spelled = next((alias for alias in aliases if alias in prompt), None)
        if spelled is None:
            return "无" if lang == "zh" else "none"
        self._asked[question] = aliases
        sentences = (prompt[start:end].strip() for start, end in split_sentences(prompt))
        sentence = next(sentence for sentence in sentences if spelled in sentence)
        if lang == "zh":
            return f"问题：{question}\n答案：{spelled}\n原句：{sentence}"
        return f"Question: {question}\nAnswer: {spelled}\nSentence: {sentence}"


class _Watch:
    """A meter for the CPU time and peak memory of this process and its children, lap by lap."""

    def __init__(self) -> None:
        self.most_mb = self._lap_mb = 0.0
        self._cpu_s, self._clock = _cpu_s(), time.monotonic()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def lap(self) -> tuple[float, float, float]:
        """Return the CPU time, the wall-clock time and the peak memory since the last lap."""
        cpu_s, clock, most = _cpu_s(), time.monotonic(), self._lap_mb
        spent = cpu_s - self._cpu_s, clock - self._clock, most
        self._cpu_s, self._clock, self._lap_mb = cpu_s, clock, 0.0
        return spent

    def _look(self) -> None:
        while not self._ended.wait(0.5):
            now = sum(_resident_mb(pid) for pid in _family("self"))
            self._lap_mb, self.most_mb = max(self._lap_mb, now), max(self.most_mb, now)


def _family(pid: str) -> Iterator[str]:
    yield pid
    command = _command(pid)
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = task.read_text("utf-8").split()
        except OSError:  # the process has exited
            continue
        for child in children:
            if _command(child) != command:  # until a new process runs its own command, it shares its parent's memory
                yield from _family(child)


def _command(pid: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def _resident_mb(pid: str) -> float:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text("utf-8").split()[1]) * resource.getpagesize() / 1e6
    except OSError:
        return 0.0


def _cpu_s() -> float:
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + ended.ru_utime + ended.ru_stime


if __name__ == "__main__":
    main()
