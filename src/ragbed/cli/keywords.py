"""Convert a command's options to keyword arguments for an API function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from ragbed.errors import UnusedOption

R = TypeVar("R")


def call_keywords(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for model calls, ignoring a cluster address from the environment if the engine is local."""
    keywords = dict(options)
    if keywords["engine"] == "local" and _source("cluster") is not ParameterSource.COMMANDLINE:
        keywords["cluster"] = None
    return keywords


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that the user has set on the command line, in the environment or in a configuration file."""
    return {name: value for name, value in options.items() if _source(name) is not ParameterSource.DEFAULT}


def call_with_given(function: Callable[..., R], *args: object, **options: Any) -> R:  # noqa: ANN401 - any option
    """Call an API function; an option without effect is an error only if it was given on the command line.

    Environment variables may be meant for other commands.
    """
    while True:
        try:
            return function(*args, **options)
        except UnusedOption as unused:
            if _source(unused.name) is ParameterSource.COMMANDLINE:
                raise
            del options[unused.name]


def _source(name: str) -> ParameterSource | None:
    return click.get_current_context().get_parameter_source(name)
