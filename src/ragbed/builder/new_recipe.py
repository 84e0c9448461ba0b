"""Start a build: survey a folder of documents, write a recipe for it, and try the recipe on a few documents."""

from __future__ import annotations

import json
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import ceil, sqrt
from pathlib import Path
from statistics import median

from msgspec import Struct
from msgspec.structs import replace as changed

from ragbed.builder.build_context import Build
from ragbed.builder.funnel import find_loss
from ragbed.builder.model_calls import WITHOUT_REPLY, Request
from ragbed.builder.passages import MAX_TOKENS, count_tokens
from ragbed.builder.pipeline import run_steps
from ragbed.builder.recipe import RecipeCounts, RecipeSource
from ragbed.builder.sources import find_files
from ragbed.builder.web import MAX_PAGE_BYTES
from ragbed.builder.web.formats import SUFFIXES, decode_page
from ragbed.builder.web.language_detection import detect_language
from ragbed.data.catalog import CATALOG, files_here
from ragbed.environment import data_dir
from ragbed.errors import UsageError
from ragbed.io.locations import open_regular
from ragbed.models.checks import CHECKS
from ragbed.schema import Article, Completion, Item, Lang
from ragbed.text import storable_name

_MAX_SURVEYED = 200  # maximum number of documents to read when detecting a folder's languages
_HEAD_BYTES = 20_000
_PLAIN = frozenset({".txt", ".md", ".markdown", ".html", ".htm", ".xhtml"})
_MIN_PASSAGE = 60  # lower limit for the maximum passage length, in tokens; about two sentences
_KINDS_OF_FILE = {".jsonl": "jsonl", ".txt": "urls"}
_TRIED = 40  # maximum number of documents in a trial; those without questions only supply passages
_UNWRITTEN = {"no-fact", "unreadable", "error", *WITHOUT_REPLY}  # outcomes of sections without a question
_WANTED = 1_000  # items requested in a trial, more than it can produce, so that all questions are checked
# Providers that need no setup but are not language models, or are listed with their files.
_OTHERS = frozenset({"http", "python", "replay", "baseline", "scripted", "hf", "llamacpp", "bundled"})
_SMALL = "qwen2.5-1.5b"  # the model in the catalogue that is recommended for building without a key or a server


def ask_for_model(environ: Mapping[str, str], folder: Path) -> str:
    """Return the message for a missing generator: what is found here, and how to get a model.

    Args:
        environ: Environment variables.
        folder: Folder in which to look for GGUF files.
    """
    lines = "".join(f"\n  {line}" for line in _find_models(environ, folder))
    found = f" Found here:{lines}" if lines else " No API key, local server or GGUF file was found."
    return (
        "Name the model that writes the questions, e.g. -m openai/gpt-4o-mini." + found + "\nFor a model on this "
        f"machine: pip install 'ragbed[llamacpp]', then `ragbed data get {_SMALL}` and -m bundled/{_SMALL}"
    )


def _find_models(environ: Mapping[str, str], folder: Path) -> Iterator[str]:
    for name, check in CHECKS.items():
        if name not in _OTHERS and (status := check(environ)).works:
            yield f"-m {name}/<model>  ({status.found})"
    runs_files = CHECKS["llamacpp"](environ).works
    files = [path for path in sorted(folder.glob("*.gguf")) if path.is_file()]
    installed = [f"bundled/{_SMALL}"] if files_here(CATALOG[_SMALL], data_dir()) else []
    for name in (*installed, *(f"llamacpp/{path.name}" for path in files)):
        yield f"-m {name}" + ("" if runs_files else "  (needs pip install 'ragbed[llamacpp]')")


class Survey(Struct, frozen=True, kw_only=True):
    """The documents in a folder.

    Attributes:
        documents: Documents that a build reads.
        skipped: Number of other files, by the reason for not reading them.
        langs: Share of each language in a sample of the documents.
        tokens: Median length of a document in the sample; 0 if none is plain text.
    """

    documents: int
    skipped: dict[str, int]
    langs: dict[Lang, float]
    tokens: int


def survey_folder(folder: Path) -> Survey:
    """Survey the documents in a folder, based on all file names and the beginnings of some files."""
    problems = {path: problem_of(path) for path in find_files(folder)}
    found = sorted(path for path, problem in problems.items() if not problem)
    skipped = Counter(filter(None, problems.values()))
    plain = [path for path in found if path.suffix.lower() in _PLAIN]
    heads = {path: _read_head(path) for path in plain[:: max(1, len(plain) // _MAX_SURVEYED)][:_MAX_SURVEYED]}
    texts = {path: text for path, text in heads.items() if text is not None}
    if unreadable := len(heads) - len(texts):
        skipped["unreadable"] += unreadable
    langs = Counter(filter(None, map(detect_language, texts.values())))
    sizes = [count_tokens(text) * max(1.0, path.stat().st_size / _HEAD_BYTES) for path, text in texts.items()]
    shares: dict[Lang, float] = {lang: langs[lang] / langs.total() for lang in ("en", "zh") if langs[lang]}
    return Survey(
        documents=len(found) - unreadable,
        skipped=dict(skipped),
        langs=shares,
        tokens=round(median(sizes)) if sizes else 0,
    )


def problem_of(path: Path) -> str:
    """Return the reason why a build does not read a file, or an empty string if it does."""
    if path.is_dir():
        return "link to a folder"
    suffix = path.suffix.lower()
    if suffix not in SUFFIXES:
        return f"{suffix or 'no suffix'}"
    try:
        size = path.stat().st_size
    except OSError:
        return "unreadable"
    return "empty" if not size else "too large" if size > MAX_PAGE_BYTES else ""


def _read_head(path: Path) -> str | None:
    """Return the beginning of a document, or None if the file cannot be read."""
    try:
        with open_regular(path, follow_links=True) as source:
            head = source.read(_HEAD_BYTES)
    except (OSError, UsageError):
        return None
    return re.sub(r"<[^>]*>", " ", decode_page(head, SUFFIXES[path.suffix.lower()]).text)


def write_recipe(
    documents: Path, generator: str, *, survey: Survey | None, items: int, name: str = "", home: Path = Path()
) -> str:
    """Return a recipe as TOML text, with default settings that users can edit.

    Args:
        documents: A folder of documents, or a file that lists or contains them.
        generator: Model that writes the questions.
        survey: Summary of the documents, if they are in a folder.
        items: Number of base items per language.
        name: Name of the build; defaults to the folder's name.
        home: The recipe's folder. Paths to documents in it are relative, so that both can be moved together.
    """
    langs = [lang for lang in ("en", "zh") if survey and lang in survey.langs] or ["en", "zh"]
    # The passages of short documents have a third of the text, to leave some for distractors.
    tokens = max(_MIN_PASSAGE, min(MAX_TOKENS, survey.tokens // 3)) if survey and survey.tokens else MAX_TOKENS
    slug = re.sub(r"[^\w.-]+", "-", Path(name or documents.resolve()).stem, flags=re.ASCII).strip("-.")[:60]
    lines = [
        f"name = {_quote(slug or 'benchmark')}",
        f"generator = {_quote(generator)}  # model that writes the questions",
        f"langs = {json.dumps(langs)}",
        'about = ""  # topic of the questions; may be empty',
        "",
        "[wanted]  # items per language",
        f"base = {items}  # noise robustness and rejection",
        "integration = 0",
        "counterfactual = 0  # only questions that the generator can answer alone",
        "",
        "[[sources]]",
        f"kind = {_quote(_kind_of(documents))}",
        f"place = {_quote(_place(documents.resolve(), home.resolve()))}",
        "",
        "[pools]",
        "sources = 1  # your own documents rarely repeat a fact; 2 requires a second, independent source",
        "distracts = 4",
        "",
        "[ranking]",
        f"tokens = {tokens}  # maximum length of a passage",
    ]
    return "\n".join(lines) + "\n"


def _kind_of(documents: Path) -> str:
    """Return the kind of source that documents are, or raise an error if they cannot be read."""
    if documents.is_dir():
        if not any(path.suffix.lower() in SUFFIXES for path in documents.rglob("*")):
            raise UsageError(
                f"{documents} contains no readable documents. Supported file types: {', '.join(SUFFIXES)}."
            )
        return "folder"
    if not documents.is_file():
        raise UsageError(f"{documents} does not exist; pass the folder or file with the documents.")
    kind = _KINDS_OF_FILE.get(documents.suffix.lower())
    if kind is None:
        known = ", ".join(_KINDS_OF_FILE)
        raise UsageError(
            f"The file type of {documents} is not supported; pass a folder, or a file that ends in {known}."
        )
    return kind


def _place(documents: Path, home: Path) -> str:
    place = str(documents.relative_to(home) if documents.is_relative_to(home) else documents)
    if storable_name(place) != place:
        raise UsageError(
            f"The path {place} is not valid UTF-8, so it cannot be stored in a recipe; rename the file or folder."
        )
    return place


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)  # every JSON string is also a valid TOML string


class RecipeTrial(Struct, frozen=True, kw_only=True):
    """The result of a trial, and the estimate for all documents.

    Attributes:
        documents: Number of documents that questions were written about.
        drafts: Number of questions that the generator wrote.
        items: Number of items that passed every check.
        expected: Estimated number of items in the whole build, with a 95% interval from `low` to `high`.
        calls: Estimated number of model calls in the whole build.
        loss: The step that rejected most questions, and what to change.
        examples: Questions and answers of a few items.
    """

    documents: int
    drafts: int
    items: int
    expected: int
    low: int
    high: int
    calls: int
    loss: str
    examples: tuple[tuple[str, str], ...] = ()


def try_recipe(build: Build, documents: Path, count: int, total: int) -> RecipeTrial:
    """Build items from a few documents.

    Args:
        build: A build with the recipe, in an empty temporary folder.
        documents: The folder with all documents.
        count: Number of documents to write questions about, in all languages together.
        total: Number of documents in the folder.
    """
    sample = build.folder / "documents"
    found = sorted(path for path in find_files(documents) if not problem_of(path))
    copied = min(max(_TRIED, count), len(found))
    for path in (found[number * len(found) // copied] for number in range(copied)):  # evenly spread over the folder
        place = sample / path.relative_to(documents)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)
    each, calls = ceil(count / len(build.recipe.langs)), 0

    def ask(request: Request) -> Mapping[str, Completion]:
        nonlocal calls
        calls += len(request.cases)
        return build.ask(request)

    small = changed(
        build.recipe,
        sources=(RecipeSource(kind="folder", place=str(sample)),),
        wanted=RecipeCounts(base=_WANTED),
        questions=changed(build.recipe.questions, articles=each),
    )
    trial = replace(build, folder=build.folder / "build", recipe=small, ask=ask)
    state = run_steps(trial, None, lambda _name, _done, _was_done: None)
    items, written = list(trial.read("items", Item)), state.steps["questions"]
    tried = sum(min(each, count) for count in Counter(one.lang for one in trial.read("articles", Article)).values())
    factor = total / max(1, tried)
    spread = 1.96 * sqrt(max(1, len(items)))  # the number of items per document is roughly Poisson-distributed
    return RecipeTrial(
        documents=tried,
        drafts=written.made + sum(count for name, count in written.rejected.items() if name not in _UNWRITTEN),
        items=len(items),
        expected=round(len(items) * factor),
        low=max(0, round((len(items) - spread) * factor)),
        high=round((len(items) + spread) * factor),
        calls=round(calls * factor),
        loss=find_loss(state),
        examples=tuple((item.question, item.answer[0][0]) for item in items[:3]),
    )
