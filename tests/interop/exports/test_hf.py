"""Testbeds as Hugging Face datasets, read by the `datasets` library."""

from __future__ import annotations

from pathlib import Path

from datasets import get_dataset_config_names, load_dataset

from ragbed.data.catalog import open_data
from ragbed.interop.exports.frozen import read_frozen, read_part
from tests.cli.typed import type_command


def test_every_language_and_testbed_is_a_configuration(tmp_path: Path) -> None:
    folder, cache = tmp_path / "frozen", str(tmp_path / "cache")
    data = ("ragbed-mini-en_base", "ragbed-mini-en_fact", "ragbed-mini-zh_fact")
    assert type_command("export", *data, "--to", "hf", "-o", str(folder), "--limit", "3").code == 0
    parts = {part.name: part for part in read_frozen(folder).parts}
    assert set(get_dataset_config_names(str(folder))) == set(parts)
    for name in ("en_noise", "zh_counterfactual"):
        rows = load_dataset(str(folder), name, split="test", cache_dir=cache)
        cases = list(read_part(folder, parts[name]))
        assert rows["case"] == [case.case for case in cases]
        assert rows["answer"] == [[list(slot) for slot in case.answer] for case in cases]
        assert [[document["text"] for document in row] for row in rows["documents"]] == [
            [document.text for document in case.documents] for case in cases
        ]
        assert [[(message["role"], message["content"]) for message in row] for row in rows["messages"]] == [
            [(message.role, message.content) for message in case.messages] for case in cases
        ]
    card = (folder / "README.md").read_text("utf-8")
    assert "* `ragbed-mini-zh_fact`: Apache-2.0; sha256 `" in card
    assert "- config_name: zh_counterfactual\n" in card


def test_an_unknown_licence_is_reported(tmp_path: Path) -> None:
    (dataset,) = open_data(["ragbed-mini-en_base"])
    (tmp_path / "en_refine.json").write_bytes(Path(str(dataset.path)).read_bytes())
    source = str(tmp_path / "en_refine.json")
    type_command("export", source, "--to", "hf", "-o", str(tmp_path / "f"), "--testbeds", "rejection", "--limit", "1")
    assert "* `en_refine`: unknown licence; state this when you redistribute the data" in (
        tmp_path / "f" / "README.md"
    ).read_text("utf-8")
