"""Benchmarks and long checks: `python -m benches NAME`, run from the root of the repository."""

from __future__ import annotations

import os
from pathlib import Path

ROOT = Path(__file__).parent.parent
RGB_DIR = Path(os.environ.get("RAGBED_RGB_DIR", "../shared/rgb-data"))
"""Where RGB's published files are looked for."""
