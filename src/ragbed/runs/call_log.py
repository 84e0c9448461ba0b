"""Record the parameters sent to a model's server, and report changes of the model that the server names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from ragbed.models.base import Model
from ragbed.runs.store import NOTE, RunStore
from ragbed.runs.writer import Writer
from ragbed.schema import Completion

_MAX_SERVED = 50  # maximum number of reported names to record per model; some servers report a new name every time


def describe_negotiated(model: str, negotiated: str) -> str:
    """Return a message about the parameters that were adapted to a model's server."""
    return f"The server for {model} does not accept the default parameters. In all requests to it, {negotiated}."


class CallLog:
    """The call log for one model in a run.

    Args:
        store: The run.
        writer: The run's writer.
        model: The model; models called over HTTP have `sent`, `negotiated` and `header_names`.
        tell: Called with messages for the user.
    """

    def __init__(self, store: RunStore, writer: Writer, model: Model, tell: Callable[[str], None]) -> None:
        self._writer, self._model, self._tell = writer, model, tell
        self._served = store.served().get(model.name, [])
        self._sent: Mapping[str, Any] = {}
        self._negotiated: str = getattr(model, "negotiated", "")  # what an earlier task of the command has announced

    def add(self, completion: Completion, *, cached: bool = False) -> None:
        """Record new parameters and model names from a response; a cached response was sent in another run."""
        # Failed responses may name the model differently, e.g. by its alias.
        has_response = completion.outcome in ("ok", "truncated")
        served = completion.served.model if has_response and completion.served is not None else None
        if served is not None and served not in self._served and len(self._served) < _MAX_SERVED:
            self._served.append(served)
            self._writer.put(NOTE, (f"served.{self._model.name}", msgspec.json.encode(self._served).decode()))
            if len(self._served) > 1:
                source = "some cached responses are from" if cached else "the server now serves"
                earlier = f"but earlier responses are from {self._served[-2]}."
                self._tell(f"Warning: for {self._model.name}, {source} {served}, {earlier}")
        if cached:
            return
        negotiated: str = getattr(self._model, "negotiated", "")
        if negotiated and negotiated != self._negotiated:
            self._negotiated = negotiated
            self._tell(describe_negotiated(self._model.name, negotiated))
        sent: Mapping[str, Any] = getattr(self._model, "sent", {})
        if sent is not self._sent and sent != self._sent:
            self._sent = sent
            record = {"body": sent, "negotiated": negotiated}
            if names := getattr(self._model, "header_names", []):
                record["headers"] = names
            self._writer.put(NOTE, (f"sent.{self._model.name}", msgspec.json.encode(record).decode()))
