"""The type of a score."""

from __future__ import annotations

from typing import TypeAlias

Value: TypeAlias = bool | float | str | tuple[int, ...] | None  # None if the case has no answer that can be matched
