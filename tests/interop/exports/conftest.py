"""Tests of Parquet need pyarrow, which is in the environment of `make test-ports`."""

from __future__ import annotations

import os
from importlib.util import find_spec

os.environ["HF_HUB_OFFLINE"] = "1"  # read when the library is loaded
collect_ignore = [] if find_spec("pyarrow") else ["test_parquet.py", "test_hf.py"]
