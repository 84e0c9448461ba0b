"""Web pages for viewing runs and reviewing dataset items."""

from __future__ import annotations

import getpass
import html
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import TYPE_CHECKING

from ragbed.api.job_specs import ReviewSpec, ViewSpec
from ragbed.api.places import run_folder, several
from ragbed.api.progress import Progress, open_progress
from ragbed.api.specification import takes
from ragbed.text import counted, storable_name

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from ragbed.ui.review.apply import Applied
    from ragbed.ui.review.session import ReviewSession
    from ragbed.ui.server import LocalAddress


class PageServer:
    """A local server for a page that can be opened only on this machine.

    Attributes:
        url: The page's URL, including the token that grants access.
        description: Short description of the page.

    Args:
        open_page: Function that opens the page and registers its resources in an exit stack.
    """

    def __init__(self, open_page: Callable[[ExitStack], tuple[LocalAddress, ASGIApp, str]]) -> None:
        self.url, self.description = "", ""
        self._open_page = open_page
        self._server: uvicorn.Server | None = None
        self._thread: Thread | None = None

    def serve(self, ready: Callable[[], None]) -> None:
        """Open the page, call `ready`, and serve the page in the current thread until interrupted or closed."""
        from ragbed.ui.server import make_server

        with ExitStack() as stack:
            address, app, self.description = self._open_page(stack)
            stack.callback(address.socket.close)
            self.url, self._server = address.address, make_server(address, app)
            ready()
            self._server.run(sockets=[address.socket])

    def start(self) -> None:
        """Open the page and serve it in a separate thread.

        The thread also owns the page's database connections.
        """
        opened: SimpleQueue[BaseException | None] = SimpleQueue()

        def serve() -> None:
            try:
                self.serve(lambda: opened.put(None))
            except BaseException as error:
                opened.put(error)

        self._thread = Thread(target=serve, daemon=True)
        self._thread.start()
        if (error := opened.get()) is not None:
            raise error

    def close(self) -> None:
        """Stop the server."""
        if self._server is not None and self._thread is not None:
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
    return _started(open_viewer(spec), open_=spec.open_)


def open_viewer(spec: ViewSpec) -> PageServer:
    """Return the server for `view` without starting it."""
    from ragbed.ui.server import need_serve, open_port

    need_serve()
    from ragbed.ui.viewer.app import make_app
    from ragbed.ui.viewer.find_runs import check_paths
    from ragbed.ui.viewer.open_runs import open_runs

    rater = spec.rater
    places = [run_folder(path, "paths") for path in several(spec.paths or "runs")]
    check_paths(places)

    def open_page(stack: ExitStack) -> tuple[LocalAddress, ASGIApp, str]:
        address = open_port(spec.port)
        stack.callback(address.socket.close)  # if a run cannot be opened
        runs = stack.enter_context(open_runs(places))
        count = len(runs.readers)
        found = f"{count} run{'s' if count > 1 else ''}" if count else f"No runs in {', '.join(map(str, places))} yet"
        return address, make_app(runs, storable_name(_user() if rater is None else rater)), found

    return PageServer(open_page)


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may run under a user ID that has no user name
        return ""


def _started(server: PageServer, *, open_: bool) -> PageServer:
    server.start()
    if open_:
        webbrowser.open(server.url)
    return server


@dataclass(frozen=True)
class ReviewResult:
    """The result of applying review decisions.

    Attributes:
        path: The folder of the reviewed dataset.
        applied: Numbers of accepted, fixed, rejected and other items.
        quality: Result of the new dataset's quality gates; None if no dataset was written.
    """

    path: Path
    applied: Applied
    quality: str | None


@takes(ReviewSpec)
def review(spec: ReviewSpec) -> PageServer | ReviewResult:
    """Review dataset items in the browser, or apply decisions.

    The page's server runs in the background until it is closed.

    Example:
        >>> made = ragbed.synthesize("built", items=3, lang="en", workers=1)
        >>> ragbed.review("built/en_base.jsonl", apply="reviewed").applied.unreviewed
        3
    """
    if spec.apply is None:
        return _started(open_review(spec), open_=spec.open_)
    from ragbed.builder.quality import write_quality
    from ragbed.ui.review.apply import apply_review

    folder = Path(spec.apply)
    with open_progress(spec.progress) as shown, _open_session(spec, shown, writes=False) as session:
        applied = apply_review(session, folder)
        return ReviewResult(folder, applied, write_quality(folder) if applied.written else None)


def open_review(spec: ReviewSpec) -> PageServer:
    """Return the server for `review` without starting it."""
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

    return PageServer(open_page)


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
