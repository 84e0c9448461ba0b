"""Every number of the results comes from a source file."""

from __future__ import annotations

import json
import math
import re

from benches import ROOT
from benches.stats_coverage import MEASURED, PAGE, render_tables

_RESULTS = ROOT / "docs/project/results.md"


def _sections() -> dict[str, str]:
    """Return the sections of the page by title."""
    parts = re.split(r"^##+ (.+)$", _RESULTS.read_text("utf-8"), flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_the_tables_say_what_their_source_says() -> None:
    assert render_tables() in PAGE.read_text("utf-8"), "run `python -m benches stats_coverage --write`"


# Numbers in the text that are part of the design, not results.
_DESIGN = re.compile(r"Qwen2\.5-Coder-1\.5B|SmolLM2|bfloat16|H200")
_LABELS = re.compile(r"95 ?%|p < 0\.05|\b[13][a-d]\b|noise 0\.[48]")


def test_numbers_outside_the_tables_come_from_the_sources() -> None:
    """The text around a table has no numbers of its own, apart from those of the design."""
    for title, text in _sections().items():
        prose = re.sub(r"<!-- from .*?<!-- end -->|`[^`]*`|\]\([^)]*\)", "", text, flags=re.DOTALL)
        prose = _LABELS.sub("", _DESIGN.sub("", prose))
        assert re.findall(r"\d+", prose) == [], title


def test_coverage_reaches_its_targets() -> None:
    for name, groups in json.loads(MEASURED.read_text("utf-8"))["figures"].items():
        for label in {"used", "held out"} & groups.keys():
            figure = groups[label]
            # Two standard errors of a simulated share, and of the mean of several; exact figures have none.
            error = 2 * math.sqrt(0.93 * 0.07 / figure["runs"]) if figure["runs"] else 0.0
            assert figure["least"] >= 0.93 - error, (name, label)
            if figure["room"]:
                error /= math.sqrt(figure["room"])
                assert 0.94 - error <= figure["mean"] <= 0.97 + error, (name, label)
