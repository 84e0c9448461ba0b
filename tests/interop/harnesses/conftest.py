"""Most of these tests need the harnesses, which are in the environment of `make test-ports`."""

from __future__ import annotations

import os
from importlib.util import find_spec

collect_ignore = [] if find_spec("inspect_ai") else ["test_parity.py"]
os.environ["HF_HUB_OFFLINE"] = "1"  # read when the libraries are imported; the tests need no network
