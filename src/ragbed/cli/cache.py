"""`ragbed cache`: what the response cache holds, and pruning it."""

from __future__ import annotations

import re

import click

from ragbed.cli import options
from ragbed.environment import cache_file
from ragbed.errors import UsageError

_UNIT_S = {"h": 3600, "d": 86_400, "w": 604_800}


@click.group(invoke_without_command=True)
@options.json_option
@click.pass_context
def cache(context: click.Context, json: bool) -> None:
    """Look into the response cache: how many replies of which model, and how large it is.

    A reply is found again only for the same model, identity, request and repeat. RAGBED_CACHE_DIR names another
    folder than the platform's.

    \b
    Examples:
      ragbed cache
      ragbed cache prune --older-than 30d
      ragbed cache prune --all
    """
    if context.invoked_subcommand is not None:
        return
    from ragbed.cli.console import print_json, print_table
    from ragbed.runs.cache_admin import look

    found = look(cache_file())
    rows = [(part.model, part.entries, part.megabytes, part.oldest, part.newest) for part in found.parts]
    title = f"{found.path}: {found.entries:,} replies, {found.megabytes:.1f} MB"
    print_table(title, ("model", "replies", "MB", "oldest", "newest"), rows, to_stderr=json)
    if json:
        print_json(found)


@cache.command("prune")
@options.option("--older-than", metavar="AGE", help="As 12h, 30d or 8w.")
@options.option("--all", "everything", is_flag=True, help="Every reply.")
@options.json_option
def prune(older_than: str | None, everything: bool, json: bool) -> None:
    """Remove replies, and give their room back to the disk.

    \b
    Examples:
      ragbed cache prune --older-than 30d
      ragbed cache prune --all
    """
    from ragbed.cli.console import print_json, say
    from ragbed.runs.cache_admin import prune as prune_replies
    from ragbed.text import counted

    if (older_than is None) is not everything:
        raise UsageError("ragbed cache prune: name either --older-than AGE or --all.")
    removed = prune_replies(cache_file(), 0.0 if older_than is None else _seconds(older_than))
    say(f"{counted(removed, 'response')} removed.")
    if json:
        print_json({"removed": removed})


def _seconds(age: str) -> float:
    found = re.fullmatch(r"([0-9]+)([hdw])", age.strip())
    if found is None:
        raise UsageError(f"--older-than {age!r}: write a number and h, d or w, as 30d.")
    return float(int(found[1]) * _UNIT_S[found[2]])
