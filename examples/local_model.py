"""Call a model at any OpenAI-compatible URL with the standard library; the other examples use it."""

from __future__ import annotations

import json
import os
from urllib.request import Request, urlopen


def chat(prompt: str) -> str:
    """Return the response of the model MODEL at MODEL_URL, by default a local Ollama server."""
    url = os.environ.get("MODEL_URL", "http://localhost:11434/v1")
    body = {"model": os.environ.get("MODEL", "qwen2.5:7b"), "messages": [{"role": "user", "content": prompt}]}
    request = Request(f"{url}/chat/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urlopen(request, timeout=120) as response:
        return str(json.load(response)["choices"][0]["message"]["content"])
