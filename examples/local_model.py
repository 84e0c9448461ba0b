"""A model behind any OpenAI-compatible address, asked with the standard library: what the examples answer with."""

from __future__ import annotations

import json
import os
from urllib.request import Request, urlopen


def chat(prompt: str) -> str:
    """Asks the model at MODEL_URL (Ollama's address, if that is not set) called MODEL."""
    url = os.environ.get("MODEL_URL", "http://localhost:11434/v1")
    asked = {"model": os.environ.get("MODEL", "qwen2.5:7b"), "messages": [{"role": "user", "content": prompt}]}
    request = Request(f"{url}/chat/completions", json.dumps(asked).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as reply:
        return str(json.load(reply)["choices"][0]["message"]["content"])
