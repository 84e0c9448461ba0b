"""`replay/<run or archive>`: a model that answers with the stored responses of a run, without calling a server."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from ragbed.errors import UnknownName, UsageError
from ragbed.interop.exports.archive import restore_archive
from ragbed.models.base import StatelessModel, canonical
from ragbed.runs.display_names import read_names, split_run
from ragbed.runs.store import open_store
from ragbed.schema import Case, Completion
from ragbed.text import storable_name

UNKNOWN = "not-recorded"  # the error kind for a case without a stored response


class ReplayModel(StatelessModel):
    """The responses of one model in a run, by case and repeat.

    Args:
        spec: A run's folder or archive, or `RUN:MODEL` for one model in a run with several models.

    Raises:
        UsageError: There is no such run or model, or the run has several models and none is named.
        DataError: The run or its archive is damaged.
    """

    advice = "A replay contains only the responses of its run. Use the same data and the same case options."
    replays: Literal[True] = True

    def __init__(self, spec: str) -> None:
        self.name = storable_name(f"replay/{spec}")
        self._source, model = split_run(spec)
        with ExitStack() as opened:
            folder = self._source
            if folder.exists() and not folder.is_dir():
                folder = Path(opened.enter_context(TemporaryDirectory(prefix="ragbed-"))) / "run"
                restore_archive(self._source, folder)
            self._store = opened.enter_context(open_store(folder, create=False))
            self._model = self._find_model(model, read_names([folder]))
            self._opened = opened.pop_all()

    def _find_model(self, wanted: str, names: Mapping[str, str]) -> int:
        """Return the number of a model, which is given by its display name or model string, or is the only one."""
        numbers = {names[name]: number for number, (name, _) in self._store.models().items()}
        if not wanted and len(numbers) != 1:
            options = ", ".join(f"{self.name}:{name}" for name in numbers)
            raise UsageError(f"{self._source} contains {len(numbers)} models. Choose one of them: {options}.")
        wanted = names.get(wanted, wanted) or next(iter(numbers))
        if wanted not in numbers:
            raise UnknownName("model", wanted, list(numbers))
        return numbers[wanted]

    async def complete(self, case: Case, repeat: int = 0) -> Completion:
        """Return the stored response to a case, with all its steps, or an error if the case is not in the run."""
        stored = self._store.result(self._model, case.case, repeat)
        if stored is None:
            problem = f"has no response to {case.case}" + (f" with repeat {repeat + 1}" if repeat else "")
        elif stored.case.messages != case.messages:
            problem = f"has a different prompt for {case.case}"
        else:
            return stored.completion
        return Completion(outcome="error", error=f"{UNKNOWN}: {self._source.name} {problem}")

    def request(self, case: Case) -> bytes:
        """Return the case's name and messages as canonical JSON."""
        return canonical([case.case, case.messages])

    async def identity(self) -> str:
        """Return the name and identity of the recorded model, and the fingerprint of the run."""
        return " ".join(filter(None, (*self._store.models()[self._model], self._store.fingerprint())))

    async def close(self) -> None:
        """Close the run, and delete the unpacked archive."""
        self._opened.close()
