"""These tests need LangChain and LlamaIndex, which have an environment of their own: `make test-examples`."""

from __future__ import annotations

from importlib.util import find_spec

collect_ignore_glob = [] if find_spec("langchain_core") and find_spec("llama_index") else ["test_*.py"]
