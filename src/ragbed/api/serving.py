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

from ragbed.api.options import RunsLike, local_path, run_folder, several
from ragbed.api.parameters import check_range, checked
from ragbed.api.progress import Progress, open_progress
from ragbed.errors import UsageError
from ragbed.text import counted, storable_name

if TYPE_CHECKING:
    import uvicorn
    from starlette.types import ASGIApp

    from ragbed.ui.review.apply import Applied
    from ragbed.ui.review.figures import ReviewComparison
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


@checked
def view(
    paths: RunsLike | None = None, *, port: int | None = None, rater: str | None = None, open_: bool = False
) -> PageServer:
    """Show every case of one or more runs in the browser. The server runs in the background until it is closed.

    Args:
        paths: Runs, or folders of runs; by default, the `runs` folder.
        port: Port on 127.0.0.1; by default, 7717 or any free port.
        rater: Name stored with the labels assigned on the page; by default, the user's name.
        open_: Open the page in the browser.

    Example:
        >>> run = ragbed.run("scripted/oracle", "ragbed-mini-en_base", limit=2, testbeds="noise", out="runs/viewed")
        >>> with ragbed.view(run, port=0) as server:
        ...     server.url.startswith("http://127.0.0.1:")
        True
    """
    return _started(open_viewer(paths, port, rater), open_=open_)


def open_viewer(paths: RunsLike | None, port: int | None, rater: str | None) -> PageServer:
    """Return the server for `view` without starting it."""
    from ragbed.ui.server import need_serve, open_port

    need_serve()
    from ragbed.ui.viewer.app import make_app
    from ragbed.ui.viewer.find_runs import check_paths
    from ragbed.ui.viewer.open_runs import open_runs

    check_range("port", port, 0, 65_535)
    places = [Path("runs")] if paths is None or paths == () else [run_folder(path) for path in several(paths)]
    check_paths(places)

    def open_page(stack: ExitStack) -> tuple[LocalAddress, ASGIApp, str]:
        address = open_port(port)
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
    """The result of comparing or applying review decisions.

    Attributes:
        path: The file with the other rater's decisions, or the folder of the reviewed dataset.
        applied: Numbers of accepted, fixed, rejected and other items, if decisions were applied.
        quality: Result of the new dataset's quality gates; None if no dataset was written.
        compared: Agreement with the decisions of another rater, if they were compared.
    """

    path: Path
    applied: Applied | None = None
    quality: str | None = None
    compared: ReviewComparison | None = None


@checked
def review(
    path: str | Path,
    *,
    rater: str | None = None,
    target: float | None = None,
    port: int | None = None,
    open_: bool = False,
    compare: str | Path | None = None,
    apply: str | Path | None = None,
    progress: bool | Progress = True,
) -> PageServer | ReviewResult:
    """Review dataset items in the browser, or compare or apply decisions.

    The page's server runs in the background until it is closed.

    Args:
        path: A build's output folder, or a dataset.
        rater: Name stored with the decisions made on the page; by default, the stored name or the user's name.
        target: Highest acceptable upper confidence bound on the share of incorrect items; by default, 0.05.
        port: Port on 127.0.0.1; by default, 7717 or any free port.
        open_: Open the page in the browser.
        compare: Measure the agreement with another rater's decisions in this file, and do nothing else.
        apply: Write the reviewed dataset to this folder, and do nothing else.
        progress: Show progress, or an object that receives it.

    Example:
        >>> made = ragbed.synthesize("built", items=3, lang="en", workers=1)
        >>> ragbed.review("built/en_base.jsonl", apply="reviewed").applied.unreviewed
        3
    """
    if compare is None and apply is None:
        return _started(open_review(path, rater, target, port, progress), open_=open_)
    if compare is not None and apply is not None:
        raise UsageError("`compare` and `apply` cannot be combined. Use only one of them.")
    with open_progress(progress) as shown, _open_session(path, rater, target, shown, writes=False) as session:
        if compare is not None:
            return ReviewResult(local_path(compare), compared=session.compare(local_path(compare)))
        return _apply(session, local_path(str(apply)))


def open_review(
    path: str | Path, rater: str | None, target: float | None, port: int | None, progress: bool | Progress
) -> PageServer:
    """Return the server for `review` without starting it."""
    from ragbed.ui.server import need_serve, open_port

    need_serve()
    from ragbed.ui.review.app import make_app
    from ragbed.ui.review.provenance import Provenance

    check_range("port", port, 0, 65_535)
    place = local_path(path)

    def open_page(stack: ExitStack) -> tuple[LocalAddress, ASGIApp, str]:
        with open_progress(progress) as shown:
            session = stack.enter_context(_open_session(path, rater, target, shown, writes=True))
        app = make_app(session, Provenance(place if place.is_dir() else place.parent))
        flagged = sum(bool(entry.flags) for entry in session.queue.entries.values())
        return open_port(port), app, f"{counted(len(session.queue.entries), 'item')}, {flagged:,} of them flagged"

    return PageServer(open_page)


@contextmanager
def _open_session(
    path: str | Path, rater: str | None, target: float | None, shown: Progress, writes: bool
) -> Iterator[ReviewSession]:
    from ragbed.ui.review.open_review import open_review as open_session

    check_range("target", target, 0.001, 0.999)

    def watch(name: str, number: int) -> None:
        shown.count(f"{name}: checking items for flags", number)

    user = storable_name(_user()) or "unknown"
    with open_session(local_path(path), target, watch, rater=rater, user=user, writes=writes) as (session, log):
        if log.torn:
            shown.message(
                f"{log.path.name}: the last line is incomplete ({log.torn} bytes). It was never confirmed and is "
                "ignored; the next decision replaces it."
            )
        if stale := len(session.state.stale):
            shown.message(
                f"{log.path.name}: ignored decisions about items that have been removed or changed: {stale}. They "
                "stay in the log."
            )
        yield session


def _apply(session: ReviewSession, folder: Path) -> ReviewResult:
    from ragbed.builder.quality import write_quality
    from ragbed.ui.review.apply import apply_review

    applied = apply_review(session.state, folder)
    return ReviewResult(folder, applied=applied, quality=write_quality(folder) if applied.written else None)
