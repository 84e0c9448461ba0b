"""Write small GGUF files, valid or with one defect."""

from __future__ import annotations

import struct
from pathlib import Path

SOUND: dict[str, object] = {
    "general.architecture": "llama",
    "llama.context_length": 512,
    "llama.block_count": 2,
    "llama.embedding_length": 64,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "tokenizer.chat_template": "{% for message in messages %}{{ message.content }}{% endfor %}",
    "tokenizer.ggml.tokens": ["<s>", "a", "<|end|>"],
    "tokenizer.ggml.token_type": [3, 1, 3],
}
"""Metadata with all fields that are read; there are no weights."""


def write_gguf(path: Path, entries: dict[str, object], *, version: int = 3) -> Path:
    """Write a file with this metadata and no tensor."""
    fields = b"".join(_string(name) + _value(value) for name, value in entries.items())
    path.write_bytes(b"GGUF" + struct.pack("<IQQ", version, 0, len(entries)) + fields)
    return path


def _string(text: str) -> bytes:
    return struct.pack("<Q", len(text.encode())) + text.encode()


def _value(value: object) -> bytes:
    match value:
        case str():
            return struct.pack("<I", 8) + _string(value)
        case int():
            return struct.pack("<II", 4, value)
        case list() if isinstance(value[0], str):
            return struct.pack("<IIQ", 9, 8, len(value)) + b"".join(map(_string, value))
        case list():
            return struct.pack("<IIQ", 9, 5, len(value)) + struct.pack(f"<{len(value)}i", *value)
    raise TypeError(value)
