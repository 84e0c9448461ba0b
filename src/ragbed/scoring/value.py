"""What a score may be."""

from __future__ import annotations

from typing import TypeAlias

Value: TypeAlias = bool | float | str | tuple[int, ...] | None
"""None where the case's own answer cannot be matched."""
