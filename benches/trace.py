"""Trace one case through ragbed: from the command to the socket, and from the response to the printed table.

Between the command and the socket, the functions are those on the call stack when the request is written; the stack of
an asyncio task continues the stack that created the task. Between the response and the table, they are the functions
that are called for the first time after the response has arrived, in this order.
"""

from __future__ import annotations

import ast
import asyncio
import inspect
import os
import sys
import tempfile
import threading
from collections.abc import Collection
from contextlib import redirect_stdout, suppress
from functools import cache
from io import StringIO
from itertools import groupby
from pathlib import Path
from types import CodeType, FrameType
from typing import Any
from unittest.mock import patch

from benches import ROOT
from tests.servers.mock_model import Behaviour, mock_model

_SOURCE = str(ROOT / "src" / "ragbed") + os.sep
_COMMAND = "run -m openai-api/mock/m -d ragbed-mini-en_base --testbeds closed-book --limit 1 --max-connections 1"


class Tracer:
    """Collects the functions of ragbed that one request and its response pass through."""

    def __init__(self) -> None:
        self.request: list[CodeType] = []
        self.response: dict[CodeType, None] = {}
        self.before: set[CodeType] = set()
        self._has_response = False
        self._creators: dict[asyncio.Task[Any] | None, list[CodeType]] = {}

    def profile(self, frame: FrameType, event: str, called: Any) -> None:  # noqa: ANN401 - see `sys.setprofile`
        """Note a call of a function."""
        if event == "call" and _is_ours(frame.f_code):
            if not self._has_response:
                self.before.add(frame.f_code)
            elif frame.f_code not in self.before:
                self.response.setdefault(frame.f_code)
        elif event == "c_call" and called.__name__ == "send" and not self.request:
            if b"/chat/completions" in bytes(frame.f_locals.get("data", b"")):
                self.request = self.stack(frame)
        elif event == "c_return" and called.__name__.startswith("recv") and self.request:
            self._has_response = True

    def create_task(self, create: Any, *arguments: Any, **options: Any) -> asyncio.Task[Any]:  # noqa: ANN401
        """Create an asyncio task, and keep the stack that created it."""
        task: asyncio.Task[Any] = create(*arguments, **options)
        self._creators[task] = self.stack(sys._getframe(1))
        return task

    def stack(self, frame: FrameType | None) -> list[CodeType]:
        """Return the functions on the stack, the outermost first."""
        codes = []
        while frame is not None:
            if _is_ours(frame.f_code):
                codes.append(frame.f_code)
            frame = frame.f_back
        with suppress(RuntimeError):  # no event loop is running
            creators = self._creators.get(asyncio.current_task(), [])
            return list(dict.fromkeys([*creators, *reversed(codes)]))
        return codes[::-1]


def _is_ours(code: CodeType) -> bool:
    """Return whether code is a function of ragbed, and not a module, a class body or a comprehension."""
    is_function = bool(code.co_flags & inspect.CO_OPTIMIZED) and not code.co_name.startswith("<")
    return is_function and code.co_filename.startswith(_SOURCE)


def trace_case() -> Tracer:
    """Evaluate one case in this process, and return the functions that were called."""
    from ragbed.cli import main as run_command  # noqa: PLC0415 - ragbed may be imported only after the variables are set

    tracer, create = Tracer(), asyncio.BaseEventLoop.create_task
    with mock_model(Behaviour(latency_s=0.2)) as url, tempfile.TemporaryDirectory() as folder:
        environ = {"MOCK_BASE_URL": url, "MOCK_API_KEY": "k", "HOME": folder, "XDG_CACHE_HOME": folder}
        words = ["ragbed", *_COMMAND.split(), "-o", str(Path(folder) / "run")]
        with (
            patch.dict(os.environ, environ),
            patch.object(sys, "argv", words),
            patch.object(asyncio.BaseEventLoop, "create_task", lambda *a, **b: tracer.create_task(create, *a, **b)),
            redirect_stdout(StringIO()),
            suppress(SystemExit),
        ):
            threading.setprofile(tracer.profile)
            sys.setprofile(tracer.profile)
            try:
                run_command()
            finally:
                sys.setprofile(None)
                threading.setprofile(None)
    return tracer


@cache
def _bodies(path: str) -> dict[int, list[ast.stmt]]:
    """Return the statements of each function in a file, without its docstring, by the line of its first decorator."""
    found = {}
    for node in ast.walk(ast.parse(Path(path).read_text("utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[first] = node.body[1:] if ast.get_docstring(node) is not None else node.body
    return found


def only_forwards(code: CodeType) -> bool:
    """Return whether a function consists of one call whose result it returns."""
    body = _bodies(code.co_filename).get(code.co_firstlineno, [])
    if len(body) != 1 or not isinstance(body[0], ast.Return | ast.Expr):
        return False
    value = body[0].value.value if isinstance(body[0].value, ast.Await) else body[0].value
    return isinstance(value, ast.Call)


def print_trace() -> None:
    """Print the functions of both ways."""
    traced = trace_case()
    called = {code for code in traced.before if code not in traced.request}
    print(f"From the command to the socket: {_count(traced.request)} on the stack; {_count(called)} have returned.")
    for code in traced.request:
        print(f"    {_file_of(code)}:{code.co_firstlineno} {code.co_qualname}")
    print(f"From the response to the printed table: {_count(traced.response)}.")
    for path, codes in groupby(traced.response, key=_file_of):
        print(f"    {path}: {', '.join(code.co_qualname for code in codes)}")


def _count(codes: Collection[CodeType]) -> str:
    return f"{len(codes)} functions ({sum(map(only_forwards, codes))} only forward)"


def _file_of(code: CodeType) -> str:
    return str(Path(code.co_filename).relative_to(_SOURCE))
