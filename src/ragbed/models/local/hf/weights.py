"""Where weights come from: a folder, or a repository of the model hub, whole and checked before anything is loaded."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragbed.errors import DataError, RagbedError, UsageError
from ragbed.io.locations import check_regular, read_regular

_REVISION = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_TEXT_FILES = ["*.json", "*.txt", "*.jinja", "*.model", "*.tiktoken"]
_PICKLED = "pytorch_model*.bin"
_DOUBLES = ["consolidated*", "original/*"]
"""The same weights a second time, in the form of their makers."""


@dataclass(frozen=True)
class WeightSource:
    """A model as its string names it: a folder, or a repository with or without a revision."""

    name: str
    revision: str | None = None
    trusts_code: bool = False
    """Whether the repository's own Python code may run."""

    @property
    def is_folder(self) -> bool:
        """Whether it is on the disk already."""
        return Path(self.name).expanduser().is_dir() or self.name.startswith(("/", "./", "../", "~"))


def parse_source(text: str, *, trusts_code: bool) -> WeightSource:
    """Reads `<repo or folder>[@revision]`.

    Raises:
        UsageError: It is neither, or code is to be trusted that may change.
    """
    name, at, revision = text.rpartition("@")
    if not at or Path(text).is_dir():
        name, revision = text, ""
    elif not _REVISION.fullmatch(revision):
        raise UsageError(f"hf/{text}: a revision is a commit's 40 hexadecimal digits, not {revision!r}.")
    source = WeightSource(name, revision or None, trusts_code)
    if source.is_folder:
        if not Path(name).expanduser().is_dir():
            raise UsageError(f"hf/{text}: there is no folder {name}; name one, or a repository as hf/org/model.")
        if trusts_code:
            raise UsageError(
                f"hf/{text}: --trust-remote-code needs code that cannot change: name the repository and its revision, "
                "as hf/org/model@<40 digits>."
            )
    elif not _REPOSITORY.fullmatch(name):
        raise UsageError(f"hf/{text}: neither a folder nor a repository; write hf/./folder or hf/org/model.")
    elif trusts_code and not source.revision:
        raise UsageError(
            f"hf/{text}: --trust-remote-code runs the repository's own code; pin it: hf/{name}@<40 digits of a commit>."
        )
    return source


def bring(source: WeightSource, environ: Mapping[str, str]) -> Path:
    """The folder with all files of a model; a repository is downloaded, or found where it was before.

    Raises:
        RagbedError: It cannot be had, or has no weights that are safe to load.
    """
    folder = Path(source.name).expanduser() if source.is_folder else _download(source, environ)
    if not (folder / "config.json").is_file():
        raise RagbedError(f"{folder} has no config.json; name the folder that the library's save_pretrained wrote.")
    if not weight_files(folder):
        raise RagbedError(
            f"{source.name} has no weights that are safe to load: *.safetensors, or {_PICKLED} in a folder or at a "
            f"revision, as hf/org/model@<40 digits>. For a GGUF file use llamacpp/<file.gguf>."
        )
    _check_code(read_config(folder), source)
    return folder


def weight_files(folder: Path) -> list[Path]:
    """Safe ones, or else pickled ones, of which the library reads numbers only (`weights_only`)."""
    return sorted(folder.glob("*.safetensors")) or sorted(folder.glob(_PICKLED))


def read_config(folder: Path) -> dict[str, Any]:
    """What the model says of itself."""
    path = folder / "config.json"
    try:
        config = json.loads(read_regular(path))
    except (ValueError, OSError) as error:
        raise DataError(path, f"cannot be read ({error}); bring the model again.") from None
    if not isinstance(config, dict):
        raise DataError(path, "is no JSON object; bring the model again.")
    return config


def fingerprint(folder: Path) -> str:
    """The revision where the hub's cache names it, otherwise a hash of all files that decide what is answered."""
    if folder.parent.name == "snapshots" and _REVISION.fullmatch(folder.name):
        return folder.name
    files = [path for pattern in _TEXT_FILES for path in sorted(folder.glob(pattern))] + weight_files(folder)
    together = "".join(f"{path.name}:{_hash(path)}\n" for path in files)
    return hashlib.sha256(together.encode()).hexdigest()[:16]


def _hash(path: Path) -> str:
    check_regular(path, follow_links=True)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _check_code(config: Mapping[str, Any], source: WeightSource) -> None:
    """Code of the repository itself is pinned by its revision; code that it takes from elsewhere is not."""
    named = config.get("auto_map")
    places = named.values() if isinstance(named, dict) else ()
    if source.trusts_code and any("--" in str(place) for place in places):
        raise RagbedError(f"{source.name} takes its code from another repository, which no revision pins; not run.")


def _download(source: WeightSource, environ: Mapping[str, str]) -> Path:
    patterns = [*_TEXT_FILES, "*.safetensors", *(["*.py"] if source.trusts_code else [])]
    folder = _fetch(source, patterns, environ)
    if not weight_files(folder) and source.revision:
        folder = _fetch(source, [*patterns, _PICKLED], environ)
    return folder


def _fetch(source: WeightSource, patterns: list[str], environ: Mapping[str, str]) -> Path:
    from huggingface_hub import errors, snapshot_download  # noqa: PLC0415  # takes half a second

    try:
        folder: str = snapshot_download(
            source.name, revision=source.revision, allow_patterns=patterns, ignore_patterns=_DOUBLES,
            endpoint=environ.get("HF_ENDPOINT"), token=environ.get("HF_TOKEN"), cache_dir=environ.get("HF_HUB_CACHE"),
        )  # fmt: skip
    except errors.GatedRepoError:
        raise RagbedError(
            f"hf/{source.name} is gated: accept its terms on its page, then put your token into HF_TOKEN."
        ) from None
    except errors.RevisionNotFoundError:
        raise RagbedError(f"hf/{source.name} has no revision {source.revision}; look it up on its page.") from None
    except errors.RepositoryNotFoundError:
        raise RagbedError(
            f"there is no folder and no public repository {source.name}; check the name, or put a token into HF_TOKEN."
        ) from None
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        brief = " ".join(str(error).split())[:200]
        raise RagbedError(
            f"hf/{source.name} cannot be brought ({brief}). Is there a network? A folder works without: hf/./folder."
        ) from None
    return Path(folder)
