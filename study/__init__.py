"""The study in docs/project/results.md: its recordings, its analysis and the check that both agree.

    python -m study NAME [OPTION …]

`study/PROTOCOL.md` defines the questions, and `study/record.sh` recorded the responses.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).parent
ROOT = FOLDER.parent
RECORDINGS = FOLDER / "recordings"
RESULTS = ROOT / "docs" / "project" / "study"
MODELS = ("SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-Coder-1.5B-Instruct")
