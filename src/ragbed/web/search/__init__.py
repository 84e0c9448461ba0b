"""Search engines behind one call, one file each, chosen by name.

To add one: a module with a function that opens it with a setting, and one line in ENGINES. One that is asked over
HTTP gives a `Service`, which says how it speaks, and is cached, counted and paced like the others. Other packages bring
such functions as entry points `ragbed.search` (docs/plugins.md).
"""

from __future__ import annotations

from collections.abc import Callable

from ragbed import plugins
from ragbed.plugins import find_part
from ragbed.web.search.base import Engine, Failed, Query
from ragbed.web.search.brave import open_brave
from ragbed.web.search.google import open_google
from ragbed.web.search.local import open_local
from ragbed.web.search.replay import open_replay
from ragbed.web.search.searxng import open_searxng
from ragbed.web.search.serper import open_serper
from ragbed.web.search.served import ServedEngine, Service
from ragbed.web.search.setting import Setting
from ragbed.web.search.tavily import open_tavily

ENGINES: dict[str, Callable[[Setting], Engine | Service]] = {
    "local": open_local,
    "searxng": open_searxng,
    "brave": open_brave,
    "serper": open_serper,
    "tavily": open_tavily,
    "google": open_google,
    "replay": open_replay,
}

__all__ = ["ENGINES", "Engine", "Failed", "Query", "Setting", "find_engine", "open_engine"]


def find_engine(name: str) -> Callable[[Setting], Engine | Service]:
    """What opens the engine of a name."""
    return find_part(plugins.SEARCH, name, ENGINES)


def open_engine(name: str, setting: Setting) -> Engine:
    """The engine of a name."""
    made = find_engine(name)(setting)
    return ServedEngine(made, setting.keep, setting.quota) if isinstance(made, Service) else made
