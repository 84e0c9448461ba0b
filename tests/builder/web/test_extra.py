"""What only building needs."""

from __future__ import annotations

import pytest

from ragbed.builder.web import need_extra
from ragbed.errors import UsageError


def test_a_missing_library_is_named_with_the_command_that_brings_it() -> None:
    need_extra("trafilatura")
    with pytest.raises(UsageError, match=r"requires nowhere_to_be_found: pip install 'ragbed\[build\]'"):
        need_extra("nowhere_to_be_found")
