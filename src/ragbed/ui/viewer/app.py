"""The web application for the viewer."""

from __future__ import annotations

from typing import Annotated

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request

from ragbed.analysis.trials.columns import SCORERS
from ragbed.errors import UsageError
from ragbed.ui.http_app import Handler, file_routes, json_routes, read_number
from ragbed.ui.viewer.annotations import put_label
from ragbed.ui.viewer.case_page import ShownCall, find_trial, make_page
from ragbed.ui.viewer.open_runs import OpenRuns
from ragbed.ui.viewer.queries import RunQueries, TrialQuery, read_row
from ragbed.ui.viewer.run_reader import FACETS, RunReadProgress

_SHOWN = 5  # maximum number of verdicts and of questions that the first page shows
_Repeat = Annotated[int, msgspec.Meta(ge=0, lt=2**31)]  # SQLite would reject integers of more than 64 bits.


class LabelRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A label submitted from a page."""

    run: str
    case: str
    model: str
    repeat: _Repeat
    criterion: str
    label: bool | None


def make_app(opened: OpenRuns, rater: str) -> Starlette:
    """Create the web application for the open runs.

    Args:
        opened: Runs to show.
        rater: Name under which labels are stored.
    """
    queries = RunQueries(opened.readers)
    reading: dict[str, Handler] = {
        "/api/overview": lambda request: _overview(opened, queries, rater, request),
        "/api/progress": lambda _: _progress(opened),
        "/api/trials": lambda request: _trials(queries, request),
        "/api/case": lambda request: _case(queries, rater, request),
    }
    changing: dict[str, Handler] = {"/api/label": lambda request: _label(queries, rater, request)}
    return Starlette(routes=json_routes(reading, changing) + file_routes("ragbed.ui.viewer"))


async def _overview(opened: OpenRuns, queries: RunQueries, rater: str, request: Request) -> bytes:
    scorer = request.query_params.get("scorer", "robust")
    if scorer not in SCORERS:
        raise UsageError(f"unknown scorer {scorer!r}. Choose one of {', '.join(SCORERS)}.")
    opened.look()
    readers = list(opened.readers.values())
    verdicts = [{"run": reader.name, **verdict} for reader in readers for verdict in reader.first.verdicts]
    worst = [(wrong, asked, reader, trial) for reader in readers for trial, wrong, asked in reader.first.worst]
    shown = {
        "scorer": scorer,
        "rater": rater,
        "runs": _runs(opened),
        "names": queries.names(),
        "verdicts": verdicts[:_SHOWN],
        "worst": [
            {"row": read_row(reader, trial), "wrong": wrong, "asked": asked}
            for wrong, asked, reader, trial in sorted(worst, key=lambda one: -one[0])[:_SHOWN]
        ],
        "rows": queries.overview(scorer),
    }
    return msgspec.json.encode(shown)


async def _progress(opened: OpenRuns) -> bytes:
    opened.look()
    return msgspec.json.encode({"runs": _runs(opened)})


def _runs(opened: OpenRuns) -> list[dict[str, object]]:
    shown = [{"name": reader.name, **reader.progress()._asdict()} for reader in opened.readers.values()]
    unread = RunReadProgress(results=0, indexed=0, version=0, process=None, problem=None)._asdict()
    return shown + [{"name": name, **unread, "problem": problem} for name, problem in opened.problems.items()]


async def _trials(queries: RunQueries, request: Request) -> bytes:
    given = request.query_params
    labels = frozenset(given.getlist("label"))
    wanted = {name: frozenset(given.getlist(name)) for name in FACETS if name in given}
    query = TrialQuery(
        runs=frozenset(given.getlist("run")), wanted=wanted, query=given.get("q", "")[:1_000], labels=labels
    )
    return msgspec.json.encode(queries.list_trials(query, read_number(given, "offset")))


async def _case(queries: RunQueries, rater: str, request: Request) -> bytes:
    given = request.query_params
    call = ShownCall(given.get("run", ""), given.get("case", ""), given.get("model", ""), read_number(given, "repeat"))
    beside = []
    for text in given.getlist("with"):
        try:
            run, model, repeat = msgspec.json.decode(text, type=tuple[str, str, _Repeat])
        except msgspec.MsgspecError:
            raise UsageError(f"with={text!r} does not identify a response. Use [run, model, repeat].") from None
        beside.append(ShownCall(run, call.case, model, repeat))
    return make_page(queries, call, beside, rater)


async def _label(queries: RunQueries, rater: str, request: Request) -> bytes:
    try:
        sent = msgspec.json.decode(await request.body(), type=LabelRequest)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UsageError(f"the request does not contain a valid label: {error}.") from None
    reader, stored = find_trial(queries, ShownCall(sent.run, sent.case, sent.model, sent.repeat))
    put_label(reader.folder, stored, sent.criterion, sent.label, rater)
    return b"{}"
