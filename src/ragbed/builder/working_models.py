"""List the models that work on this machine, for the message that asks for one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from ragbed.data.catalog import CATALOG, files_here
from ragbed.environment import data_dir
from ragbed.models.checks import CHECKS

# Back ends that need no setup but are not language models, or are listed with their files.
_OTHERS = frozenset({"http", "python", "replay", "baseline", "scripted", "hf", "llamacpp", "bundled"})
_SMALL = "qwen2.5-1.5b"  # the model in the catalogue that is recommended for building without a key or a server


def ask_for_model(environ: Mapping[str, str], folder: Path) -> str:
    """Return the message for a missing generator: what is found here, and how to get a model.

    Args:
        environ: Environment variables.
        folder: Folder in which to look for GGUF files.
    """
    lines = "".join(f"\n  {line}" for line in _find_models(environ, folder))
    found = f" Found here:{lines}" if lines else " No API key, local server or GGUF file was found."
    return (
        "Name the model that writes the questions, e.g. -m openai/gpt-4o-mini." + found + "\nFor a model on this "
        f"machine: pip install 'ragbed[llamacpp]', then `ragbed data get {_SMALL}` and -m bundled/{_SMALL}"
    )


def _find_models(environ: Mapping[str, str], folder: Path) -> Iterator[str]:
    for name, check in CHECKS.items():
        if name not in _OTHERS and (status := check(environ)).works:
            yield f"-m {name}/<model>  ({status.found})"
    runs_files = CHECKS["llamacpp"](environ).works
    files = [path for path in sorted(folder.glob("*.gguf")) if path.is_file()]
    installed = [f"bundled/{_SMALL}"] if files_here(CATALOG[_SMALL], data_dir()) else []
    for name in (*installed, *(f"llamacpp/{path.name}" for path in files)):
        yield f"-m {name}" + ("" if runs_files else "  (needs pip install 'ragbed[llamacpp]')")
