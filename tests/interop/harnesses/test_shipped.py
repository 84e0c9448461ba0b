"""Built-in testbeds that harnesses find by name."""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec
import pytest
from inspect_ai import eval as evaluate
from lm_eval import simple_evaluate
from lm_eval.tasks import TaskManager

from ragbed.analysis.overview import tabulate_run
from ragbed.data.catalog import PLACES
from ragbed.interop.harnesses.shipped import SHIPPED, make_shipped_cases, write_files
from ragbed.interop.replay import ReplayModel
from tests.cli.typed import type_command
from tests.interop.harnesses.replaying import ReplayLM

# Hash of the names, messages, answers and expectations of all bundled test cases. It has not changed since the first
# version. Descriptive fields of a case, such as the partner of a minimal pair, are not part of it.
PROMPTS_SHA256 = "084c33b555f8c5d409d2c5ab906173ec60c55a1bfb9cbdc436a1e4a7f72312ac"


def test_the_same_name_always_means_the_same_prompts() -> None:
    digest = hashlib.sha256()
    for name in SHIPPED:
        for case in make_shipped_cases(name)[1] if name.startswith("mini_") else ():
            fields = (case.case, case.feasible, case.messages, case.answer, case.fake, case.expect)
            digest.update(msgspec.json.encode(fields))
    assert digest.hexdigest() == PROMPTS_SHA256


def test_the_bundled_task_files_are_current(tmp_path: Path) -> None:
    write_files(tmp_path)
    made = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert made == {path.name: path.read_text("utf-8") for path in Path(PLACES["lm-eval"]).iterdir()}
    assert len(made) == len(SHIPPED) == 20
    assert type_command("data", "path", "lm-eval").out == f"{PLACES['lm-eval']}\n"


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recorded")
    words = ("-d", "ragbed-mini-zh_base", "--testbeds", "rejection", "--cache", "off", "--out", str(folder / "run"))
    assert type_command("run", "-m", "scripted/last-doc", *words).code == 0
    type_command("export", str(folder / "run"), "--to", "archive", "-o", str(folder / "run.zip"))
    return folder / "run.zip"


def test_inspect_finds_the_tasks_and_the_model_by_entry_point(archive: Path, tmp_path: Path) -> None:
    quiet = {"display": "none", "score_display": False, "log_realtime": False}
    (log,) = evaluate("ragbed/mini_zh_rejection", model=f"replay/{archive}", log_dir=str(tmp_path), limit=5, **quiet)
    assert (log.status, log.eval.metadata["cases"]) == ("success", make_shipped_cases("mini_zh_rejection")[0].sha256)
    means = {score.name: score.metrics["mean"].value for score in log.results.scores}
    (cell,) = tabulate_run(archive.parent / "run")
    assert means["refused"] == cell.rate("refused") == 0
    assert set(means) >= {"correct", "refused", "paper.refused", "code.refused"}


def test_lm_eval_finds_the_tasks_in_the_folder(archive: Path) -> None:
    manager = TaskManager(include_path=PLACES["lm-eval"], include_defaults=False)
    assert {"rgb_en_noise", "rgb_zh_counterfactual", "ragbed_mini_zh_rejection"} <= set(manager.all_tasks)
    done = simple_evaluate(
        model=ReplayLM(ReplayModel(str(archive))),
        tasks=["ragbed_mini_zh_rejection"],
        task_manager=manager,
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    assert done["n-samples"]["ragbed_mini_zh_rejection"]["effective"] == 60
    assert done["results"]["ragbed_mini_zh_rejection"]["refused,none"] == 0
    assert done["samples"]["ragbed_mini_zh_rejection"][0]["doc"]["scorers"]


def test_missing_data_are_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RAGBED_DATA_DIR", str(tmp_path))
    with pytest.raises(
        Exception, match=r"en_refine has not been downloaded yet\. Download it with: ragbed data get rgb"
    ):
        make_shipped_cases("rgb_en_noise")
