"""These tests need sentence-transformers, which brings torch and has a separate environment: `make test-hf`."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("sentence_transformers") else ["test_*.py"]
