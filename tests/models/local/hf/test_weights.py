"""Test folders and repositories of weights, and files that are not loaded."""

from __future__ import annotations

from pathlib import Path

import pytest

from ragbed.errors import RagbedError, UsageError
from ragbed.models.local.hf.weights import WeightSource, fingerprint, get_folder, parse_source
from tests.models.local.hf.hub import REVISION, Hub, serve
from tests.models.local.hf.small import save_model

PINNED = WeightSource("org/model", REVISION)


def from_hub(hub: Hub, cache: Path, source: WeightSource) -> Path:
    return get_folder(source, {"HF_ENDPOINT": hub.url, "HF_HUB_CACHE": str(cache)})


def test_a_repository_is_downloaded_without_code_and_pickles(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "made")
    for name in ("modeling.py", "pytorch_model.bin", "consolidated.safetensors", "training_args.bin"):
        (folder / name).write_bytes(b"never")
    with serve(folder) as hub:
        brought = from_hub(hub, tmp_path / "cache", WeightSource("org/model"))
        again = from_hub(hub, tmp_path / "cache", WeightSource("org/model"))
    assert sorted(set(hub.sent)) == sorted(file.name for file in brought.iterdir())
    assert not {"modeling.py", "pytorch_model.bin", "consolidated.safetensors", "training_args.bin"} & set(hub.sent)
    assert len(hub.sent) == len(set(hub.sent))
    assert fingerprint(brought) == fingerprint(again) == REVISION


def test_pickled_weights_are_downloaded_only_at_a_revision(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "made")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with serve(folder) as hub:
        with pytest.raises(RagbedError, match=r"no weights that are safe to load.*@<full commit hash>"):
            from_hub(hub, tmp_path / "cache", WeightSource("org/model"))
        assert "pytorch_model.bin" not in hub.sent
        assert (from_hub(hub, tmp_path / "cache", PINNED) / "pytorch_model.bin").is_file()


def test_code_is_downloaded_only_if_trusted(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "made")
    (folder / "modeling.py").write_text("own = True")
    with serve(folder) as hub:
        assert not (from_hub(hub, tmp_path / "one", PINNED) / "modeling.py").exists()
        trusted = WeightSource("org/model", REVISION, trusts_code=True)
        assert (from_hub(hub, tmp_path / "two", trusted) / "modeling.py").is_file()


def test_a_missing_repository_or_revision_is_named(tmp_path: Path) -> None:
    with serve(save_model(tmp_path / "made")) as hub:
        with pytest.raises(RagbedError, match="hf/org/other is not a folder or a public repository"):
            from_hub(hub, tmp_path / "cache", WeightSource("org/other"))
        with pytest.raises(RagbedError, match="has no revision ffff"):
            from_hub(hub, tmp_path / "cache", WeightSource("org/model", "f" * 40))
    with pytest.raises(RagbedError, match=r"cannot be downloaded.*use a local folder: hf/./folder"):
        from_hub(hub, tmp_path / "cache", WeightSource("org/model"))


def test_a_cached_repository_needs_no_network(tmp_path: Path) -> None:
    with serve(save_model(tmp_path / "made")) as hub:
        brought = from_hub(hub, tmp_path / "cache", PINNED)
    assert from_hub(hub, tmp_path / "cache", PINNED) == brought


def test_a_fingerprint_depends_on_weights_and_template_and_not_on_the_folder(tmp_path: Path) -> None:
    one, same = save_model(tmp_path / "one"), save_model(tmp_path / "same")
    other = save_model(tmp_path / "other", seed=1)
    chatty = save_model(tmp_path / "chatty", template="{{ messages[0]['content'] }}")
    assert fingerprint(one) == fingerprint(same)
    assert len({fingerprint(folder) for folder in (one, other, chatty)}) == 3


@pytest.mark.parametrize(
    ("text", "trusts_code", "complaint"),
    [
        ("./nowhere", False, "the folder ./nowhere does not exist"),
        ("org/model@main", False, "the revision must be a commit hash of 40 hexadecimal digits, not 'main'"),
        ("org/model", True, "must be pinned: hf/org/model@<40-digit commit hash>"),
        ("/", True, "`trust_remote_code` requires a repository with a pinned revision"),
        ("a/b/c", False, "is neither a folder nor a repository"),
        ("org/mo del", False, "is neither a folder nor a repository"),
    ],
)
def test_bad_names_are_refused_before_anything_is_loaded(text: str, trusts_code: bool, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        parse_source(text, trusts_code=trusts_code)


def test_a_revision_is_part_of_the_name() -> None:
    assert parse_source(f"org/model@{REVISION}", trusts_code=True) == WeightSource(
        "org/model", REVISION, trusts_code=True
    )


def test_code_from_another_repository_is_never_run(tmp_path: Path) -> None:
    folder = save_model(tmp_path / "made")
    config = folder / "config.json"
    config.write_text(
        config.read_text("utf-8").replace("{", '{"auto_map": {"AutoConfig": "evil/code--config.Config"},', 1)
    )
    with serve(folder) as hub, pytest.raises(RagbedError, match="loads code from another repository"):
        from_hub(hub, tmp_path / "cache", WeightSource("org/model", REVISION, trusts_code=True))
