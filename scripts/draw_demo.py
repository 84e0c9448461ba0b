"""Draws what `ragbed demo` prints as docs/images/demo.svg, for the README.

    python -m scripts.draw_demo

The run in runs/demo is shown; where there is none, or only a part, it is made first, which takes minutes.
"""

from __future__ import annotations

import io
import re
from pathlib import Path
from unittest.mock import patch

from rich.console import Console

from ragbed.cli import demo

WIDTH = 100


def main() -> None:
    """Records the English half of the demo and saves it."""
    recorder = Console(record=True, width=WIDTH, file=io.StringIO(), highlight=False, force_terminal=True)
    with patch("ragbed.cli.console.console", lambda **_: recorder):
        demo.demo(["--lang", "en"], standalone_mode=False)
    path = Path(__file__).parent.parent / "docs" / "images" / "demo.svg"
    path.parent.mkdir(parents=True, exist_ok=True)
    drawing = recorder.export_svg(title="ragbed demo --lang en", unique_id="demo")
    # No remote fonts: the picture must look the same, and ask nobody, wherever it is shown.
    path.write_text(re.sub(r"\s*@font-face \{.*?\}", "", drawing, flags=re.DOTALL), encoding="utf-8")


if __name__ == "__main__":
    main()
