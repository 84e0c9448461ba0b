"""Web pages for viewing runs and reviewing dataset items."""

from __future__ import annotations

import getpass
import html
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from contextvars import copy_context
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from ragbed.api.job_specs import ReviewSpec, ViewSpec
from ragbed.api.progress import Progress, open_progress
from ragbed.api.results import run_folders
from ragbed.api.specification import takes
from ragbed.reporting.table import Result, Table
from ragbed.text import counted, storable_name

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from ragbed.ui.review.session import ReviewSession
    from ragbed.ui.server import LocalAddress


class PageServer:
    """A local server for a page that can be opened only on this machine. It runs in a thread until it is closed.

    Attributes:
        url: The page's URL, including the token that grants access.
        description: Short description of the page.

    Args:
        open_page: Function that opens the page and registers its resources in an exit stack.
        opens_browser: Whether to open the page in the browser.
    """

    def __init__(
        self, open_page: Callable[[ExitStack], tuple[LocalAddress, ASGIApp, str]], *, opens_browser: bool
    ) -> None:
        from ragbed.ui.server import make_server

        opened: SimpleQueue[tuple[str, str, uvicorn.Server] | BaseException] = SimpleQueue()

        def serve() -> None:  # the thread also owns the page's database connections
            try:
                with ExitStack() as stack:
                    address, app, description = open_page(stack)
                    stack.callback(address.socket.close)
                    server = make_server(address, app)
                    opened.put((address.address, description, server))
                    server.run(sockets=[address.socket])
            except BaseException as error:
                opened.put(error)

        # The context names options as the command line does.
        self._thread = Thread(target=copy_context().run, args=(serve,), daemon=True)
        self._thread.start()
        found = opened.get()
        if isinstance(found, BaseException):
            raise found
        self.url, self.description, self._server = found
        if opens_browser:
            webbrowser.open(self.url)

    def wait(self) -> None:
        """Wait until the server is closed or the user presses Ctrl-C."""
        try:
            self._thread.join()
        finally:
            self.close()

    def close(self) -> None:
        """Stop the server."""
        self._server.should_exit = True
        self._thread.join()

    def __enter__(self) -> PageServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{self.description}: {self.url}"

    def _repr_html_(self) -> str:
        return f'<a href="{html.escape(self.url)}" target="_blank">{html.escape(self.description)}</a>'


@takes(ViewSpec)
def view(spec: ViewSpec) -> PageServer:
    """Show every case of one or more runs in the browser. The server runs in the background until it is closed.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="runs/viewed")
        >>> with ragbed.view(run, port=0) as server:
        ...     server.url.startswith("http://127.0.0.1:")
        True
    """
    from ragbed.ui.server import need_serve, open_port

    need_serve()
    from ragbed.ui.viewer.app import make_app
    from ragbed.ui.viewer.find_runs import need_runs
    from ragbed.ui.viewer.open_runs import open_runs

    rater = spec.rater
    places = run_folders(spec.paths or "runs", "paths")
    need_runs(places, now=False)

    def open_page(stack: ExitStack) -> tuple[LocalAddress, ASGIApp, str]:
        address = open_port(spec.port)
        stack.callback(address.socket.close)  # if a run cannot be opened
        runs = stack.enter_context(open_runs(places))
        count = len(runs.readers)
        found = f"{counted(count, 'run')}" if count else f"No runs in {', '.join(map(str, places))} yet"
        return address, make_app(runs, storable_name(_user() if rater is None else rater)), found

    return PageServer(open_page, opens_browser=spec.open_)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a user ID that has no user name
        return ""


@takes(ReviewSpec)
def review(spec: ReviewSpec) -> PageServer | Result:
    """Review dataset items in the browser, or apply decisions.

    The page's server runs in the background until it is closed.

    Example:
        >>> made = ragbed.synthesize("built", items=3, lang="en", workers=1)
        >>> ragbed.review("built/en_base.jsonl", apply="reviewed")["applied"].unreviewed
        3
    """
    if spec.apply is not None:
        return _apply_review(spec, Path(spec.apply))
    from ragbed.ui.server import need_serve, open_port

    need_serve()
    from ragbed.ui.review.app import make_app
    from ragbed.ui.review.item_page import read_origins

    place = Path(spec.path)

    def open_page(stack: ExitStack) -> tuple[LocalAddress, ASGIApp, str]:
        with open_progress(spec.progress) as shown:
            session = stack.enter_context(_open_session(spec, shown, writes=True))
        app = make_app(session, read_origins(place if place.is_dir() else place.parent))
        flagged = sum(bool(item.flags) for item in session.items.values())
        return open_port(spec.port), app, f"{counted(len(session.items), 'item')}, {flagged:,} of them flagged"

    return PageServer(open_page, opens_browser=spec.open_)


def _apply_review(spec: ReviewSpec, folder: Path) -> Result:
    """Write the reviewed dataset, and return the numbers of accepted, fixed, rejected and other items."""
    from ragbed.builder.quality import write_quality
    from ragbed.ui.review.apply import CHANGED, REMOVED, apply_review

    with open_progress(spec.progress) as shown, _open_session(spec, shown, writes=False) as session:
        applied = apply_review(session, folder)
        quality = write_quality(folder) if applied.written else None
    rows = [{"items": name.replace("_", " "), "count": count} for name, count in asdict(applied).items()]
    notes = [f"{folder}: {REMOVED} and {CHANGED} list every removal and change with its reason."]
    notes += [] if quality is None else [quality]
    return Result([Table(rows, "Reviewed items")], notes, {"folder": str(folder), "applied": applied})


@contextmanager
def _open_session(spec: ReviewSpec, shown: Progress, writes: bool) -> Iterator[ReviewSession]:
    from ragbed.ui.review.session import open_review as open_session

    def watch(name: str, number: int) -> None:
        shown.count(f"{name}: checking items for flags", number)

    user = storable_name(_user()) or "unknown"
    path = Path(spec.path)
    with open_session(path, watch, rater=spec.rater, target=spec.target, user=user, writes=writes) as session:
        if stale := len(session.stale):
            shown.message(
                f"{session.log.path.name}: ignored decisions about items that have been removed or changed: {stale}. "
                "They stay in the log."
            )
        yield session
