"""`ragbed synth`: generate a dataset of fictional news."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from ragbed.cli import options

<<<<<<< HEAD
if TYPE_CHECKING:
    from ragbed.synth.generate import SynthManifest
    from ragbed.synth.spec import SynthSpec

MIX, NONE = "mix", "none"
_LONGEST, _SHORTEST = 1500, 60
_FEWEST_PARTS, _MOST_PARTS = 2, 5
_FEWEST_DOCS, _MOST_DOCS = 2, 200
"""The generator cannot make many more documents for one item that are all different and true."""
_WORTH_A_BAR = 1000
"""Items from which generation takes long enough to show how far it is."""


class SynthOptions(TypedDict):
    """The options as typed."""

    seed: int
    items: int
    integration: int | None
    counterfactual: int | None
    lang: str
    num_docs: int
    parts: int
    tokens: int
    perturbations: str
    workers: int | None

=======
>>>>>>> apb

@click.command()
@options.option("--out", "-o", required=True, type=options.LocalPath(), metavar="DIR", help="Folder for the files.")
@options.option("--seed", type=int, default=0, help="Seed of the generator; the same seed gives the same bytes.")
@options.option("--items", type=int, default=300, help="Base items for each language.")
@options.option("--integration", type=int, help="Integration items. Default: a third of --items.")
@options.option(
    "--counterfactual", type=int, help="Counterfactual items. Default: a third of --items, at most one for each fact."
)
@options.option("--lang", metavar="LANGS", default="en,zh", help="Languages to write.")
@options.option("--num-docs", type=int, default=20, help="Documents per base item; half of them contain the answer.")
@options.option("--parts", type=int, default=3, help="Sub-answers of an integration item, at most: 2 to 5.")
@options.option(
    "--tokens",
    type=int,
    default=85,
    help="Approximate length of a document: 60, or 80 to 1500. Values between 60 and 80 give about 80.",
)
@options.option(
    "--perturbations",
    metavar="NAMES",
    default="mix",
    help="Causes of failure to add: mix (in two items of ten), none, or names (every item gets a minimal pair).",
)
@options.option("--workers", type=int, help="Worker processes. Default: one for each core.")
@options.json_option
@options.config_option
def synth(out: Path, json: bool, **settings: Any) -> None:  # noqa: ANN401 - the options above
    """Generate fictional news with known truth.

    No model has read these texts, and every answer is known exactly. DIR receives {lang}_base.jsonl,
    {lang}_int.jsonl and {lang}_fact.jsonl, and a manifest.json with the seed, the versions and a
    checksum of each file.

    \b
    Examples:
      ragbed synth --seed 7 --items 300 -o news
      ragbed synth --items 100 --lang en --perturbations sibling,hedge -o pairs
      ragbed synth --items 1000000 --lang zh --num-docs 10 --tokens 60 --integration 0 --counterfactual 0 -o zh
    """
<<<<<<< HEAD
    from ragbed.cli.console import print_json
    from ragbed.synth.generate import write_dataset

    recipes = _recipes(asked)
    counts = _counts(asked, recipes)
    _check_place(out, recipes, counts)
    with _bar(sum(counts.values()) * len(recipes)) as watch:
        made = write_dataset(recipes, counts, out, workers=asked["workers"], on_progress=watch)
    _print_files(out, made, to_stderr=json)
    if json:
        print_json({"folder": str(out), "manifest": made})


def _check_place(folder: Path, recipes: tuple[SynthSpec, ...], counts: dict[str, int]) -> None:
    """Accept a folder with the same generated files, and refuse to overwrite any others."""
    from ragbed.errors import UsageError
    from ragbed.synth.generate import read_manifest

    wanted = {f"{recipe.lang}_{kind}.jsonl": count for recipe in recipes for kind, count in counts.items() if count}
    there = [name for name in wanted if (folder / name).exists()]
    if not there:
        return
    old = read_manifest(folder)
    if old is None or old.recipes != recipes or {name: file.items for name, file in old.files.items()} != wanted:
        what = "is not a complete synthetic dataset" if old is None else "was generated with other options"
        raise UsageError(f"{folder / there[0]} already exists and {what}; use another -o, or remove it.")


def _counts(asked: SynthOptions, recipes: tuple[SynthSpec, ...]) -> dict[str, int]:
    """How many items of each kind, checked."""
    from ragbed.errors import UsageError
    from ragbed.synth.counterfactual import read_facts

    third, facts = asked["items"] // 3, min(len(read_facts(recipe.lang)) for recipe in recipes)
    sizes = {
        "items": asked["items"],
        "integration": third if asked["integration"] is None else asked["integration"],
        "counterfactual": min(third, facts) if asked["counterfactual"] is None else asked["counterfactual"],
    }
    for name, size in sizes.items():
        if size < 0:
            raise UsageError(f"--{name} {size}: allowed are 0 and more.")
    if not any(sizes.values()):
        raise UsageError("--items, --integration and --counterfactual are all 0: nothing to write.")
    if asked["workers"] is not None and asked["workers"] < 1:
        raise UsageError(f"--workers {asked['workers']}: allowed are 1 and more.")
    return dict(zip(("base", "int", "fact"), sizes.values(), strict=True))


def _recipes(asked: SynthOptions) -> tuple[SynthSpec, ...]:
    """One recipe for each language, checked."""
    from ragbed.cli.layout import read_langs, split
    from ragbed.errors import UnknownName, UsageError
    from ragbed.synth.perturbations import PERTURBATIONS
    from ragbed.synth.spec import SynthSpec

    docs, tokens, perturbations = asked["num_docs"], asked["tokens"], asked["perturbations"]
    if not _FEWEST_DOCS <= docs <= _MOST_DOCS:
        raise UsageError(f"--num-docs {docs}: allowed are {_FEWEST_DOCS} to {_MOST_DOCS}.")
    if not _FEWEST_PARTS <= asked["parts"] <= _MOST_PARTS:
        raise UsageError(f"--parts {asked['parts']}: allowed are {_FEWEST_PARTS} to {_MOST_PARTS}.")
    if not _SHORTEST <= tokens <= _LONGEST:
        raise UsageError(f"--tokens {tokens}: allowed are {_SHORTEST} to {_LONGEST}.")
    fixed = {MIX: PERTURBATIONS, NONE: ()}
    names = fixed[perturbations] if perturbations in fixed else tuple(split(perturbations, "--perturbations"))
    for name in names:
        if name in (MIX, NONE):
            raise UsageError(f"--perturbations {perturbations}: {name} cannot be combined with other names.")
        if name not in PERTURBATIONS:
            raise UnknownName("perturbation", name, (MIX, NONE, *PERTURBATIONS))
    return tuple(
        SynthSpec(
            seed=asked["seed"],
            lang=lang,
            supports=docs - docs // 2,
            distractors=docs // 2,
            most_parts=asked["parts"],
            tokens=tokens,
            perturbations=names,
            mixed=perturbations == MIX,
        )
        for lang in read_langs(asked["lang"])
    )


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None] | None]:
    """A progress bar on a terminal, if it is worth one."""
    if total < _WORTH_A_BAR or not sys.stderr.isatty():
        yield None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from ragbed.cli.console import console

    columns = (TextColumn("items"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console(to_stderr=True)) as progress:
        task = progress.add_task("items", total=total)
        yield lambda count: progress.advance(task, count)


def _print_files(folder: Path, made: SynthManifest, *, to_stderr: bool) -> None:
    from ragbed.cli.console import print_table

    rows = [
        (str(folder / name), file.items, file.documents, file.bytes, file.sha256[:12])
        for name, file in made.files.items()
    ]
    print_table("Synthetic data", ("file", "items", "documents", "bytes", "sha256"), rows, to_stderr=to_stderr)
=======
    from ragbed.api import datasets
    from ragbed.cli.console import print_json, print_table
    from ragbed.cli.console_progress import ConsoleProgress

    with ConsoleProgress() as progress:
        made = datasets.synthesize(out, progress=progress, **settings)
    rows = [(*list(row.values())[:-1], row["sha256"][:12]) for row in made.records()]
    print_table("Synthetic data", ("file", "items", "documents", "bytes", "sha256"), rows, to_stderr=json)
    if json:
        print_json({"folder": str(out), "manifest": made.manifest})
>>>>>>> apb
