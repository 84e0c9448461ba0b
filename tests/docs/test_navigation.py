"""A reader finds the command for each of twelve tasks in at most two clicks, and every page by links."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.docs.blocks import ROOT, read_blocks

_DOCS = ROOT / "docs"
_LINK = re.compile(r"\[[^\]]+\]\(([^)#\s]+)(?:#[^)]*)?\)")
_MOST_CLICKS = 2
_MOST_ENTRIES = 30
_SECTIONS = 5
_WIDEST = 85
_MOST_WORDS = {"README.md": 600, "docs": 18_000}  # without code and generated tables
_GENERATED = {"cli.md", "api.md", "metrics.md", "figures.md"}
_CODE = re.compile(
    r"^( *)(`{3,}).*?^\1\2\s*$|<!-- from .*?<!-- end -->|<!--.*?-->|`[^`\n]*`|\]\([^)]*\)", re.DOTALL | re.MULTILINE
)
_WORD = re.compile(r"\S*[^\W\d_]\S*")
_TASKS = {  # what a reader wants, and a part of the command or sentence (English|Chinese) that answers it
    "my LangChain app": "-m factory/langchain_rag:make",
    "a model on Azure": "-m azure/my-deployment -d ragbed-mini-LANG_base",
    "a model on vLLM": "-m vllm/Qwen/Qwen2.5-7B-Instruct -d ragbed-mini-LANG_base",
    "a reasoning model": "-m deepseek/deepseek-reasoner -d ragbed-mini-LANG_base --out runs/reasoner",
    "questions from my own documents": "ragbed build init docs/",
    "a metric of my own": "--scorer python/my_metrics:words,python/my_metrics:brief",
    "what a score means": "scores 100% on the first|总是拒答的模型拒答率为 100%",
    "Table 1 of the paper": "--preset chatgpt --profile code-2023",
    "two prompts compared": "ragbed compare runs/prompt-default runs/prompt-short",
    "a CI job that fails": "--fail-if-worse 5%",
    "four GPUs or a cluster": "--engine ray --cluster localhost:6379 --replicas 4 --gpus-per-replica 1",
    "the cost before a run": "--dry-run --price 0.15,0.6",
}


def _read(page: Path) -> str:
    return " ".join(page.read_text("utf-8").replace("\\\n", " ").split())


def _language(page: Path) -> str:
    return "zh" if "zh" in page.parts or page.name == "README.zh.md" else "en"


def _targets(page: Path) -> set[Path]:
    found = {(page.parent / target).resolve() for target in _LINK.findall(page.read_text("utf-8"))}
    return {path for path in found if path.suffix == ".md" and path.is_file()}


def _within(start: Path, clicks: int) -> set[Path]:
    """Return the pages that are at most this many links away."""
    found = {start}
    for _ in range(clicks):
        found |= {target for page in found for target in _targets(page)}
    return found


@pytest.mark.parametrize(
    ("start", "lang"),
    [("README.md", "en"), ("docs/index.md", "en"), ("README.zh.md", "zh"), ("docs/zh/index.md", "zh")],
)
@pytest.mark.parametrize("task", _TASKS)
def test_a_task_is_found_in_two_clicks(task: str, start: str, lang: str) -> None:
    answer = re.compile("|".join(re.escape(part) for part in _TASKS[task].replace("LANG", lang).split("|")))
    pages = [page for page in _within(ROOT / start, _MOST_CLICKS) if _language(page) == lang]
    assert [page for page in pages if answer.search(_read(page))]


@pytest.mark.parametrize("start", ["docs/index.md", "docs/zh/index.md"])
def test_every_page_of_a_language_is_linked(start: str) -> None:
    home = ROOT / start
    pages = {page for page in home.parent.rglob("*.md") if ("zh" in page.parts) == (home.parent.name == "zh")}
    assert pages - _within(home, len(pages)) == set()


@pytest.mark.parametrize(("name", "lang"), [("mkdocs.yml", "en"), ("mkdocs.zh.yml", "zh")])
def test_a_sidebar_is_short_and_has_one_language(name: str, lang: str) -> None:
    sections = yaml.safe_load((ROOT / name).read_text("utf-8"))["nav"]
    pages = [
        page for section in sections for entries in section.values() for entry in entries for page in entry.values()
    ]
    assert len(sections) == _SECTIONS
    assert len(pages) <= _MOST_ENTRIES
    assert {page.startswith("zh/") for page in pages} == {lang == "zh"}


def test_command_lines_fit_on_the_page() -> None:
    long = [
        f"{block.place}: {line}"
        for page in [ROOT / "README.md", ROOT / "README.zh.md", *sorted(_DOCS.rglob("*.md"))]
        if page.name != "cli.md"
        for block in read_blocks(page)
        if block.kind in ("sh", "console")
        for line in block.text.splitlines()
        if "ragbed " in line and len(line) > _WIDEST
    ]
    assert long == []


@pytest.mark.parametrize("place", _MOST_WORDS)
def test_the_english_pages_are_short(place: str) -> None:
    pages = [ROOT / place, *(page for page in (ROOT / place).rglob("*.md") if "zh" not in page.parts)]
    texts = [page.read_text("utf-8") for page in pages if page.is_file() and page.name not in _GENERATED]
    assert sum(len(_WORD.findall(_CODE.sub(" ", text))) for text in texts) <= _MOST_WORDS[place]
