"""`ragbed world`: writes a dataset of fictional news."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ragbed.cli import options

if TYPE_CHECKING:
    from ragbed.worlds.generate import World
    from ragbed.worlds.recipe import Recipe

MIX, NONE = "mix", "none"
_LONGEST, _SHORTEST = 1500, 20
_WORTH_A_BAR = 1000
"""Items from which generation takes long enough to show how far it is."""


def world(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="DIR", help="The folder that the files go to.")],
    seed: Annotated[int, typer.Option(help="Of the world; the same one gives the same bytes.", envvar="RAGBED_SEED")] = 0,
    items: Annotated[int, typer.Option(help="Base items for each language.", envvar="RAGBED_ITEMS")] = 300,
    integration: Annotated[int | None, typer.Option(help="Integration items; a third of --items if not given.")] = None,
    counterfactual: Annotated[
        int | None, typer.Option(help="Counterfactual items; a third of --items, but no fact twice, if not given.")
    ] = None,
    lang: Annotated[str, typer.Option(help="Languages, separated by commas.", envvar="RAGBED_LANG")] = "en,zh",
    docs: Annotated[int, typer.Option(help="Documents of a base item; half of them support.")] = 20,
    tokens: Annotated[int, typer.Option(help="About how long a document is.")] = 60,
    dials: Annotated[
        str,
        typer.Option(help="mix: of ten items four vary a dial; none; or names, and then all items come in pairs."),
    ] = MIX,
    workers: Annotated[int | None, typer.Option(help="Processes; one for each core if not given.")] = None,
    json: options.Json = False,
    config: options.Config = None,
) -> None:
    """Write a dataset of fictional news: no model can know it, and its truth is known exactly.

    DIR receives {lang}_base.jsonl, {lang}_int.jsonl and {lang}_fact.jsonl, and a manifest.json with
    the seed, the versions and a checksum of each file.

    Examples:

      ragbed world --seed 7 --items 300 -o world

      ragbed world --items 100 --lang en --dials sibling,hedge -o pairs

      ragbed world --items 1000000 --lang zh --docs 10 --integration 0 --counterfactual 0 -o load
    """
    from ragbed.cli.console import print_json
    from ragbed.worlds.counterfactual import read_facts
    from ragbed.worlds.generate import write_world

    recipes = _recipes(seed, lang, docs, tokens, dials)
    facts = min(len(read_facts(recipe.lang)) for recipe in recipes)
    counts = {
        "base": items,
        "int": items // 3 if integration is None else integration,
        "fact": min(items // 3, facts) if counterfactual is None else counterfactual,
    }
    _check_sizes({"items": items, "integration": counts["int"], "counterfactual": counts["fact"]}, workers)
    with _bar(sum(counts.values()) * len(recipes)) as watch:
        made = write_world(recipes, counts, output, workers=workers, watch=watch)
    _print_files(output, made, to_stderr=json)
    if json:
        print_json({"folder": str(output), "manifest": made})


def _recipes(seed: int, lang: str, docs: int, tokens: int, dials: str) -> tuple[Recipe, ...]:
    from ragbed.cli.layout import read_langs, split
    from ragbed.errors import UnknownName, UsageError
    from ragbed.worlds.dials import DIALS
    from ragbed.worlds.recipe import Recipe

    if docs < 2:
        raise UsageError(f"--docs {docs}: allowed are 2 and more: one that supports and one that distracts.")
    if not _SHORTEST <= tokens <= _LONGEST:
        raise UsageError(f"--tokens {tokens}: allowed are {_SHORTEST} to {_LONGEST}.")
    names = () if dials == NONE else DIALS if dials == MIX else tuple(split(dials, "--dials"))
    for name in names:
        if name not in DIALS:
            raise UnknownName("dial", name, (MIX, NONE, *DIALS))
    return tuple(
        Recipe(
            seed=seed,
            lang=language,
            supports=docs - docs // 2,
            distractors=docs // 2,
            tokens=tokens,
            dials=names,
            mixed=dials == MIX,
        )
        for language in read_langs(lang)
    )


def _check_sizes(sizes: dict[str, int], workers: int | None) -> None:
    from ragbed.errors import UsageError

    for name, size in sizes.items():
        if size < 0:
            raise UsageError(f"--{name} {size}: allowed are 0 and more.")
    if not any(sizes.values()):
        raise UsageError("--items, --integration and --counterfactual are all 0: nothing to write.")
    if workers is not None and workers < 1:
        raise UsageError(f"--workers {workers}: allowed are 1 and more.")


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


def _print_files(folder: Path, made: World, *, to_stderr: bool) -> None:
    from ragbed.cli.console import print_table

    rows = [(str(folder / name), file.items, file.documents, file.bytes, file.sha256[:12]) for name, file in made.files.items()]
    print_table("World", ("file", "items", "documents", "bytes", "sha256"), rows, to_stderr=to_stderr)
