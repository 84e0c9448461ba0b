"""`ragbed build relabel`, as typed."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.typed import type_command


def test_agreement_is_printed_and_every_disagreement_explained(rgb_dir: Path) -> None:
    done = type_command("build", "relabel", str(rgb_dir / "en_fact.json"))
    assert done.code == 0
    assert "RGB's rule reproduces the published labels of 100 of 100 items." in done.out
    assert "item 43, contradicts[2]: positive (contains): the passage contains every part of the answer" in done.out


def test_the_last_line_is_for_machines(rgb_dir: Path) -> None:
    done = type_command("build", "relabel", str(rgb_dir / "en_fact.json"), "--json")
    summary = json.loads(done.out.splitlines()[-1])
    agreement = {(row["way"], row["published"]): (row["agree"], row["of"]) for row in summary["agreement"]}
    assert agreement["plain", "supports"] == (395, 395)
    assert agreement["plain", "distracts"] == (594, 594)
    assert summary["rebuilt"] == summary["items"] == 100
    assert len(summary["disagreements"]) == sum(of - agree for agree, of in agreement.values())
    assert "en_fact" in done.err


def test_without_a_subcommand_the_help_names_them() -> None:
    done = type_command("build")
    assert done.code == 2
    assert all(f"  {name} " in done.err for name in ("init", "run", "quality", "relabel"))
