"""Encode texts with any sentence-transformers model (`st/<repository or folder>`)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ragbed.errors import RagbedError, UsageError
from ragbed.retrieval.base import Matrix, Role, to_unit

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

# Names of the prompts to prepend to texts, for models that define such prompts.
_PROMPT: dict[Role, str] = {"question": "query", "passage": "document"}


class SentenceEncoder:
    """An encoder that creates one vector per text with a sentence-transformers model, on a GPU if there is one.

    Args:
        name: The name of the encoder.
        source: A folder, or a Hugging Face Hub repository, which the library downloads and caches.
    """

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self._model = _load(name, source)

    def identity(self) -> str:
        """Return the library's version and the hash of the weights in memory."""
        from sentence_transformers import __version__  # noqa: PLC0415

        digest = hashlib.sha256()
        for key, tensor in sorted(self._model.state_dict().items()):
            digest.update(key.encode())
            digest.update(tensor.float().cpu().numpy().tobytes())
        return f"{self.name} sentence-transformers={__version__} sha256={digest.hexdigest()}"

    def encode(self, texts: Sequence[str], role: Role) -> Matrix:
        """Return one vector per text."""
        if not texts:
            return np.zeros((0, self._model.get_embedding_dimension() or 0), np.float32)
        prompt = self._model.prompts.get(_PROMPT[role]) or ""
        # The tokenizer rejects unpaired surrogates.
        complete = [prompt + text.encode("utf-8", "replace").decode() for text in texts]
        vectors: Matrix = self._model.encode(complete, prompt="", convert_to_numpy=True, show_progress_bar=False)
        return to_unit(vectors.astype(np.float32))


def _load(name: str, source: str) -> SentenceTransformer:
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - loads torch, which takes seconds
    except ImportError:
        raise UsageError(f"encoder {name} requires sentence-transformers: pip install 'ragbed[sentence]'.") from None
    try:
        return SentenceTransformer(source)
    except OSError as error:
        raise RagbedError(
            f"encoder {name}: {source} cannot be loaded: {error}. Use a model folder or a Hugging Face Hub "
            "repository, and check the network connection."
        ) from error
