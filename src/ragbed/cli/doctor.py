"""`ragbed doctor`: check this installation, and suggest fixes for problems."""

from __future__ import annotations

import platform
from typing import TYPE_CHECKING

from ragbed.cli.console import activation, print_json, print_lines, print_tables
from ragbed.cli.options import Json, command
from ragbed.text import counted

if TYPE_CHECKING:
    from ragbed.api.job_specs import DoctorSpec
    from ragbed.api.setup import DoctorResult


@command()
def doctor(spec: DoctorSpec, *, json: Json = False) -> None:
    """Check which models and extras work, and measure the cache.

    No model is called and nothing is downloaded; for API keys, ragbed only checks whether they are set. The presets
    reproduce systems from the paper. Their prompts are tested against the original code, but not with the original
    weights. RAGBED_CACHE_DIR sets the cache folder.

    \b
    Examples:
      ragbed doctor
      ragbed doctor --json
      ragbed doctor --prune-cache 30d
    """
    from ragbed.api import setup

    found = setup.doctor.start(spec)
    versions = f"ragbed {found.versions['ragbed']}, Python {found.versions['python']}"
    lines = [f"{versions}, {platform.platform()}"]
    if command := activation():
        lines.append(f"Before you run a command from the fix column, run: {command}")
    print_lines(lines, to_stderr=json)
    print_tables(found.tables(), to_stderr=json)
    print_lines([_describe_cache(found)], to_stderr=json)
    if json:
        checks = {"models": found.models, "extras": found.extras, "presets": found.presets, "plugins": found.plugins}
        cache = found.cache._asdict() | {"problem": found.cache_problem, "removed": found.removed}
        print_json({**found.versions, **checks, "cache": cache})


def _describe_cache(found: DoctorResult) -> str:
    cache = found.cache
    if found.cache_problem:
        return f"\nResponse cache: {found.cache_problem}"
    removed = f"; {counted(found.removed, 'older response')} removed" if found.removed else ""
    return (
        f"\nResponse cache: {counted(cache.entries, 'response')}, {cache.megabytes:.1f} MB, in {cache.path}{removed}."
    )
