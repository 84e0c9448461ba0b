"""What a GGUF file says of itself: read before llama.cpp loads it, so that a wrong file gets a clear message.

The format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md, versions 2 and 3.
"""

from __future__ import annotations

import hashlib
import mmap
import re
import struct
from dataclasses import dataclass
from pathlib import Path

from ragbed.errors import UsageError

_MAGIC = b"GGUF"
_STRING, _ARRAY = 8, 9
_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_CONTROL = 3
"""The type of a token that steers the model, as one that ends a turn."""
_PART = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")
_WIDTH = 2
"""Bytes of a number in the store of what was read (16-bit floats)."""


@dataclass(frozen=True)
class Weights:
    """What is needed of a file's description."""

    path: Path
    architecture: str
    context: int
    """Tokens that the model was made to read at most."""
    template: str
    """How it wants messages to be written; never empty."""
    controls: tuple[str, ...]
    """Texts that would be read as signals, such as the end of a turn, if they stood in a document."""
    token_bytes: int
    """Memory that each token takes while it is kept."""
    languages: tuple[str, ...] = ()
    """Codes of the languages that the model was made for, e.g. `en`; empty where the file names none."""

    def sha256(self) -> str:
        """Of the file, or of its parts in their order."""
        digest = hashlib.sha256()
        for path in _parts(self.path):
            with open(path, "rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
        return digest.hexdigest()


def read_weights(path: Path) -> Weights:
    """Reads the description of a file of weights.

    Raises:
        UsageError: There is no such file, it is no GGUF or cut, or it cannot hold a conversation.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "no such file"
        raise UsageError(f"llamacpp/{path}: {what}; name a file of weights, as llamacpp/models/qwen.gguf.")
    for part in _parts(path):
        if not part.is_file():
            raise UsageError(f"{part} is missing; {path.name} is one of several parts, which must lie side by side.")
    try:
        with open(path, "rb") as file:
            if file.read(4) != _MAGIC:
                raise UsageError(f"{path} is not a GGUF file; models for llama.cpp are published as files named .gguf.")
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
                told = _Reader(content).read()
    except (struct.error, UnicodeDecodeError, ValueError) as error:
        raise UsageError(f"{path} is cut or damaged ({error}); download it again.") from None
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}.") from error
    return _understand(path, told)


def _parts(path: Path) -> list[Path]:
    """The files that belong together: large models come as `…-00001-of-00003.gguf` and so on."""
    found = _PART.search(path.name)
    if found is None:
        return [path]
    count, stem = int(found[2]), path.name[: found.start()]
    return [path.with_name(f"{stem}-{number:05}-of-{count:05}.gguf") for number in range(1, count + 1)]


def _understand(path: Path, told: dict[str, object]) -> Weights:
    architecture = told.get("general.architecture")
    if not isinstance(architecture, str) or not architecture:
        raise UsageError(f"{path} does not say which architecture it is of; download it again.")
    template = told.get("tokenizer.chat_template")
    if not isinstance(template, str) or not template.strip():
        raise UsageError(
            f"{path} has no chat template, so it was not made to answer questions; use the file of an instruct model."
        )
    context = told.get(f"{architecture}.context_length")
    if not isinstance(context, int) or context < 1:
        raise UsageError(f"{path} does not say how much it can read ({architecture}.context_length).")
    tokens, kinds = told.get("tokenizer.ggml.tokens"), told.get("tokenizer.ggml.token_type")
    controls: tuple[str, ...] = ()
    if isinstance(tokens, list) and isinstance(kinds, list):
        controls = tuple(token for token, kind in zip(tokens, kinds, strict=False) if kind == _CONTROL and token)
    named = told.get("general.languages")
    languages = tuple(map(str, named)) if isinstance(named, list) else ()
    return Weights(path, architecture, context, template, controls, _token_bytes(told, architecture), languages)


def _token_bytes(told: dict[str, object], architecture: str) -> int:
    """Two rows of numbers a layer; 0 where the description does not tell."""

    def number(name: str, default: int = 0) -> int:
        value = told.get(f"{architecture}.{name}", default)
        value = max(value, default=default) if isinstance(value, list) else value  # one for each layer
        return value if isinstance(value, int) else default

    heads = number("attention.head_count") or 1
    width = number("embedding_length") // heads
    rows = number("attention.key_length", width) + number("attention.value_length", width)
    return number("block_count") * number("attention.head_count_kv", heads) * rows * _WIDTH


class _Reader:
    """Walks through the fields; whatever points beyond the end of the file is an error."""

    def __init__(self, content: mmap.mmap) -> None:
        self._content, self._at = content, len(_MAGIC)

    def read(self) -> dict[str, object]:
        version = self._number("I")
        if version not in (2, 3):
            raise ValueError(f"its format is version {version}")
        self._number("Q")  # tensors
        return {self._string(): self._value(self._number("I")) for _ in range(self._number("Q"))}

    def _number(self, sign: str) -> int:
        (value,) = struct.unpack_from(f"<{sign}", self._content, self._at)
        self._at += struct.calcsize(f"<{sign}")
        return value  # type: ignore[no-any-return]

    def _take(self, size: int) -> bytes:
        if size > len(self._content) - self._at:
            raise ValueError("it ends in the middle of its description")
        self._at += size
        return self._content[self._at - size : self._at]

    def _string(self) -> str:
        return self._take(self._number("Q")).decode()

    def _value(self, kind: int) -> object:
        if kind == _STRING:
            return self._take(self._number("Q")).decode("utf-8", "replace")
        if kind == _ARRAY:
            return self._array(self._number("I"), self._number("Q"))
        return self._number(_sign(kind))

    def _array(self, kind: int, count: int) -> list[object]:
        if kind == _STRING:
            return [self._value(kind) for _ in range(count)]
        form = f"<{_sign(kind)}"
        return [value for (value,) in struct.iter_unpack(form, self._take(count * struct.calcsize(form)))]


def _sign(kind: int) -> str:
    if kind not in _NUMBERS:
        raise ValueError(f"it has a field of the unknown type {kind}")
    return _NUMBERS[kind]
