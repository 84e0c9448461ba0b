"""Any model of the library sentence-transformers: `st/<repository or folder>`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.base import Encoded, Matrix, Role, to_unit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

_PROMPT: dict[Role, str] = {"question": "query", "passage": "document"}
"""The library's names for what some models want before a text; a model that wants nothing has an empty one."""


class SentenceEncoder:
    """One vector a text; the library takes a graphics card where there is one.

    Args:
        name: What it is opened by.
        source: A folder, or a repository of the model hub, whose files the library brings once and keeps.
    """

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._model = _load(name, source)

    def identity(self) -> str:
        """Version of the library, and hash of the weights as they are in memory."""
        from sentence_transformers import __version__  # noqa: PLC0415

        digest = hashlib.sha256()
        for key, tensor in sorted(self._model.state_dict().items()):
            digest.update(key.encode())
            digest.update(tensor.float().cpu().numpy().tobytes())
        return f"{self.name} sentence-transformers={__version__} sha256={digest.hexdigest()}"

    def encode(self, texts: Sequence[str], role: Role) -> Encoded:
        """The vectors of any texts; those beyond the model's maximum length are cut, and told."""
        if not texts:
            return Encoded(np.zeros((0, self._model.get_embedding_dimension() or 0), np.float32))
        prompt = self._model.prompts.get(_PROMPT[role]) or ""
        # Its tokenizer refuses halves of surrogate pairs, which stand in texts that were decoded carelessly.
        whole = [prompt + text.encode("utf-8", "replace").decode() for text in texts]
        vectors: Matrix = self._model.encode(whole, prompt="", convert_to_numpy=True, show_progress_bar=False)
        return Encoded(to_unit(vectors.astype(np.float32)), self._cut(whole))

    def _cut(self, texts: list[str]) -> tuple[int, ...]:
        most = self._model.max_seq_length
        if most is None:
            return ()
        pieces = self._model.tokenizer(texts, truncation=False, verbose=False)["input_ids"]
        return tuple(place for place, found in enumerate(pieces) if len(found) > most)


def _load(name: str, source: str) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - loads torch, which takes seconds
    except ImportError:
        message = f"encoder {name} needs the library sentence-transformers: pip install 'ragbed[sentence]'."
        raise UsageError(message) from None
    try:
        return SentenceTransformer(source)
    except OSError as error:
        raise RagbedError(
            f"encoder {name}: no model could be loaded from {source}: {error}. "
            "Name a folder that holds one, or a repository of the model hub, and check the network."
        ) from error
