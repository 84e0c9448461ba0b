"""`ragbed cache`: inspect and prune the response cache."""

from __future__ import annotations

import click

from ragbed.cli import options
from ragbed.cli.console import print_json, print_table, say
from ragbed.text import counted


@click.group(invoke_without_command=True)
@options.json_option
@click.pass_context
def cache(context: click.Context, json: bool) -> None:
    """Show the number and size of cached responses per model.

    A cached response is used only for the same model, server, identity, request and repeat number. RAGBED_CACHE_DIR
    sets the cache folder.

    \b
    Examples:
      ragbed cache
      ragbed cache prune --older-than 30d
      ragbed cache prune --all
    """
    if context.invoked_subcommand is not None:
        return
    from ragbed.api import setup

    found = setup.cache().contents
    rows = [(part.model, part.entries, part.megabytes, part.oldest, part.newest) for part in found.parts]
    title = f"{found.path}: {counted(found.entries, 'response')}, {found.megabytes:.1f} MB"
    print_table(title, ("model", "responses", "MB", "oldest", "newest"), rows, to_stderr=json)
    if json:
        print_json(found)


@cache.command("prune")
@options.option("--older-than", metavar="AGE", help="Remove cached responses older than this age, e.g. 12h, 30d or 8w.")
@options.option("--all", "all_", is_flag=True, help="Remove all cached responses.")
@options.json_option
def prune(older_than: str | None, all_: bool, json: bool) -> None:
    """Remove cached responses and free their disk space.

    \b
    Examples:
      ragbed cache prune --older-than 30d
      ragbed cache prune --all
    """
    from ragbed.api import setup

    removed = setup.cache_prune(older_than=older_than, all_=all_)
    say(f"{counted(removed, 'response')} removed.")
    if json:
        print_json({"removed": removed})
