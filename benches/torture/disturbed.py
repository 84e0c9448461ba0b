"""Runs to disturb, against an endpoint that logs every call, so that the log shows how often each was sent."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ragbed.errors import RagbedError, UsageError
from tests.runs.harness import SLOTS, Endpoint, canonical, replies

_NOISE = "0,0.2,0.4,0.6,0.8"


class Disturbed:
    """A dataset, an endpoint, and an undisturbed run with which the disturbed ones are compared."""

    def __init__(self, folder: Path, endpoint: Endpoint, items: int) -> None:
        self.folder, self.endpoint, self.items = folder, endpoint, items
        self.data = folder / f"made-{items}.jsonl"
        with open(self.data, "w", encoding="utf-8") as sink:
            for number in range(items):
                # The endpoint distinguishes cases by their prompts, so all prompts must differ.
                positive, negative = (
                    [f"{kind} {place} on matter {number} is {digest}." for place in range(5)]
                    for kind, digest in (("Document", hashlib.md5(b"%d" % number).hexdigest()), ("Rumour", "unknown"))
                )
                record = {"id": number, "query": f"What is matter {number}?", "answer": [f"{number}-"]}
                sink.write(json.dumps(record | {"positive": positive, "negative": negative}) + "\n")
        self.cases = 5 * items
        self.environ = os.environ | {"TEST_BASE_URL": endpoint.url}
        self.undisturbed = folder / f"undisturbed-{items}"
        assert self.start(self.undisturbed).wait() == 0
        self.lines = canonical(self.undisturbed)

    def start(
        self, run: Path, *before: str, options: Sequence[str] = (), log: Path | None = None
    ) -> subprocess.Popen[bytes]:
        """Start the complete command as a user would, optionally wrapped in another program or with more options."""
        words = [*before, sys.executable, "-m", "ragbed", "run", "-m", "openai-api/test/m", "-d", str(self.data)]
        words += ["--testbeds", "noise", "--noise", _NOISE, "--max-connections", str(SLOTS), "--cache", "off"]
        with open(log or os.devnull, "wb") as sink:
            return subprocess.Popen([*words, "--out", str(run), *options], env=self.environ, stdout=sink, stderr=sink)


def stored(run: Path) -> dict[str, str | None]:
    """Return the responses stored in a run; empty if it was killed before its file was created."""
    try:
        return replies(run)
    except UsageError:
        return {}
    except RagbedError:
        if (run / "run.sqlite").stat().st_size:
            raise
        return {}
