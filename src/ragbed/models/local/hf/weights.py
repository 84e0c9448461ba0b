"""Find a model's weights in a folder or a Hugging Face Hub repository."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ragbed.errors import DataError, RagbedError, UsageError, option
from ragbed.io.locations import check_regular, read_regular

_REVISION = re.compile(r"[0-9a-f]{40}")
_REPOSITORY = re.compile(r"[\w.-]+(/[\w.-]+)?", re.ASCII)
_TEXT_FILES = ["*.json", "*.txt", "*.jinja", "*.model", "*.tiktoken"]
_PICKLED = "pytorch_model*.bin"
# Patterns for files that duplicate the model's weights in another format.
_DUPLICATES = ["consolidated*", "original/*"]


@dataclass(frozen=True)
class WeightSource:
    """A model folder, or a repository with an optional revision; `trusts_code` allows the model's code to run."""

    name: str
    revision: str | None = None
    trusts_code: bool = False

    @property
    def is_folder(self) -> bool:
        """Whether the source is a folder on this machine."""
        return Path(self.name).expanduser().is_dir() or self.name.startswith(("/", "./", "../", "~"))


def parse_source(text: str, *, trusts_code: bool) -> WeightSource:
    """Parse a source of the form `<repo or folder>[@revision]`.

    Raises:
        UsageError: The text is neither a repository nor a folder, or its code is trusted but no revision is given.
    """
    name, at, revision = text.rpartition("@")
    if not at or Path(text).is_dir():
        name, revision = text, ""
    elif not _REVISION.fullmatch(revision):
        raise UsageError(f"hf/{text}: the revision must be a commit hash of 40 hexadecimal digits, not {revision!r}.")
    source = WeightSource(name, revision or None, trusts_code)
    if source.is_folder:
        if not Path(name).expanduser().is_dir():
            raise UsageError(
                f"hf/{text}: the folder {name} does not exist. Choose an existing folder, or a repository: "
                "hf/org/model."
            )
        if trusts_code:
            raise UsageError(
                f"hf/{text}: {option('trust_remote_code')} requires a repository with a pinned revision: "
                "hf/org/model@<full commit hash>."
            )
    elif not _REPOSITORY.fullmatch(name):
        raise UsageError(f"hf/{text} is neither a folder nor a repository. Use hf/./folder or hf/org/model.")
    elif trusts_code and not source.revision:
        raise UsageError(
            f"hf/{text}: {option('trust_remote_code')} runs code from the repository, so its revision must be pinned: "
            f"hf/{name}@<40-digit commit hash>."
        )
    return source


def get_folder(source: WeightSource, environ: Mapping[str, str]) -> Path:
    """Return the folder with all of the model's files; download the repository if it is not cached.

    Raises:
        RagbedError: The download failed, or there are no weights that are safe to load.
    """
    folder = Path(source.name).expanduser() if source.is_folder else _download(source, environ)
    if not (folder / "config.json").is_file():
        raise RagbedError(f"{folder} has no config.json. Choose a folder written by transformers' save_pretrained().")
    if not weight_files(folder):
        raise RagbedError(
            f"{source.name} has no weights that are safe to load. Safe weights are *.safetensors files, or "
            f"{_PICKLED} files in a local folder or at a pinned revision (hf/org/model@<full commit hash>). "
            "For a GGUF file, use llamacpp/<file.gguf>."
        )
    auto_map = read_config(folder).get("auto_map")
    modules = auto_map.values() if isinstance(auto_map, dict) else ()
    if source.trusts_code and any("--" in str(module) for module in modules):
        raise RagbedError(
            f"{source.name} loads code from another repository, which cannot be pinned to a revision, so ragbed does "
            "not "
            "run it. Use a model whose code is in its own repository."
        )
    return folder


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files or, if there are none, the pickle files, which are loaded with `weights_only`."""
    return sorted(folder.glob("*.safetensors")) or sorted(folder.glob(_PICKLED))


def read_config(folder: Path) -> dict[str, Any]:
    """Return the contents of a model's `config.json`."""
    path = folder / "config.json"
    try:
        config = json.loads(read_regular(path))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(path, f"cannot be read ({error}); download the model again.") from None
    if not isinstance(config, dict):
        raise DataError(path, "does not contain a JSON object; download the model again.")
    return config


def fingerprint(folder: Path) -> str:
    """Return the revision if the folder is in the Hugging Face cache, otherwise a hash of all relevant files."""
    if folder.parent.name == "snapshots" and _REVISION.fullmatch(folder.name):
        return folder.name
    files = [path for pattern in _TEXT_FILES for path in sorted(folder.glob(pattern))] + weight_files(folder)
    return hashlib.sha256("".join(f"{path.name}:{_hash(path)}\n" for path in files).encode()).hexdigest()[:16]


def _hash(path: Path) -> str:
    check_regular(path, follow_links=True)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _download(source: WeightSource, environ: Mapping[str, str]) -> Path:
    patterns = [*_TEXT_FILES, "*.safetensors", *(["*.py"] if source.trusts_code else [])]
    folder = _fetch(source, patterns, environ)
    if not weight_files(folder) and source.revision:
        folder = _fetch(source, [*patterns, _PICKLED], environ)
    return folder


def _fetch(source: WeightSource, patterns: list[str], environ: Mapping[str, str]) -> Path:
    from huggingface_hub import errors, snapshot_download  # noqa: PLC0415  # takes 0.5 s

    try:
        folder: str = snapshot_download(
            source.name, revision=source.revision, allow_patterns=patterns, ignore_patterns=_DUPLICATES,
            endpoint=environ.get("HF_ENDPOINT"), token=environ.get("HF_TOKEN"), cache_dir=environ.get("HF_HUB_CACHE"),
        )  # fmt: skip
    except errors.GatedRepoError:
        problem = "is gated: accept its terms on its Hugging Face page and set HF_TOKEN to your token"
    except errors.RevisionNotFoundError:
        problem = f"has no revision {source.revision}; check the repository's page"
    except errors.RepositoryNotFoundError:
        problem = "is not a folder or a public repository; check the name, or set HF_TOKEN"
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, OSError) as error:
        brief = " ".join(str(error).split())[:200]
        problem = f"cannot be downloaded ({brief}); check the network connection, or use a local folder: hf/./folder"
    else:
        return Path(folder)
    raise RagbedError(f"hf/{source.name} {problem}.")
