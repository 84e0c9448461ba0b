"""`ragbed export`, typed as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import type_command


def test_rgb_goes_to_native_and_back_to_the_same_bytes(rgb_dir: Path, tmp_path: Path) -> None:
    original, there, back = rgb_dir / "en_fact.json", tmp_path / "there.jsonl", tmp_path / "back.json"
    done = type_command("export", str(original), "--to", "native", "-o", str(there), "--json")
    assert json.loads(done.out) == {"items": 100, "format": "native", "output": str(there)}
    assert type_command("export", str(there), "--to", "rgb", "-o", str(back)).code == 0
    assert back.read_bytes() == original.read_bytes()
