"""Every error that a user can reach by mistyping a model, dataset, option, file, URL or key, with its complete message.

A message states the problem with the value, the cause, and the fix.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from itertools import starmap
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

import ragbed
from ragbed.data.catalog import dataset_names
from ragbed.models import PROVIDERS
from tests.cli.typed import type_command


class Mistake(NamedTuple):
    """A mistyped command, and the last line that it must print to stderr.

    In commands, `DATA` is a bundled dataset and `RUN` a valid `ragbed run` command. In messages, `<providers>` and
    `<datasets>` are the lists of known names, and `<any>` is text that depends on libraries and installed packages.
    """

    typed: str
    message: str
    env: Mapping[str, str] = MappingProxyType({})
    code: int = 2


_DATA = "ragbed-mini-en_base"
_RUN = "run -m scripted/oracle -d DATA --limit 3"

_FORM = "A model string has the form provider/model; the providers are <providers>."
_CHOOSE_RUN = "Choose the folder of a run (`ragbed run … --out RUN`)."
_OTHER_VALUES = "Choose other values for --noise, --num-docs, --true-ratio or --distractors, or another dataset"
_WRONG_URL = (
    "is not valid because it lacks a host or does not start with http:// or https://. Correct the model "
    "string or the base URL variable, e.g. http://host:8000/v1."
)
_NO_DATASET = "Check the path, or choose a dataset: <datasets>."
_NOT_EVEN = "a noise ratio of 0.5 would require 2.5 distractors among 5 documents; use 0.4 or 0.6"
_UNKNOWN_PROVIDERS = {
    "gpt-4o": "",
    "OpenAI/gpt-4o": "openai/gpt-4o",
    "Qwen/Qwen2.5-7B-Instruct": "",
}
"""Model strings, and those that are suggested instead."""


def _unknown_provider(typed: str, meant: str) -> Mistake:
    suggestion = f" Did you mean {meant}?" if meant else ""
    provider = typed.partition("/")[0]
    return Mistake(
        f"run -d DATA -m {typed}", f"--model {typed}: '{provider}' is not a known provider.{suggestion} {_FORM}"
    )


MODELS = [
    *starmap(_unknown_provider, _UNKNOWN_PROVIDERS.items()),
    Mistake(
        "run -d DATA -m openai",
        "--model openai: the model name is missing after the provider. Use openai/<model>.",
    ),
    Mistake("run -d DATA -m mine=something", f"--model something: 'something' is not a known provider. {_FORM}"),
    Mistake(
        "run -d DATA -m 'my name=openai/gpt-4o'",
        "--model my name=openai/gpt-4o: the name 'my name' before '=' may only contain letters, digits, '.', '_' "
        "and '-'.",
    ),
    Mistake(
        "run -d DATA -m https://host/ask",
        "--model https://host/ask: to evaluate a system at a URL, use the provider `http`: http/https://host/ask",
    ),
    Mistake(
        "run -d DATA -m openai-api/myserver",
        "openai-api/myserver: the server name or the model name is missing. Use openai-api/<name>/<model>.",
    ),
    Mistake(
        "run -d DATA -m scripted/orakle",
        "unknown scripted model 'orakle'. Did you mean 'oracle'? Known: oracle, refuser, <any>",
    ),
    Mistake(
        "run -d DATA -m bundled/smollm",
        "unknown bundled model 'smollm'. Did you mean 'smollm2'? Known: qwen2.5-1.5b, smollm2.",
    ),
    Mistake(
        "run -d DATA -m llamacpp/none.gguf",
        "llamacpp/none.gguf: no such file. Choose a .gguf file, e.g. llamacpp/models/qwen.gguf.",
    ),
    Mistake(
        "run -d DATA -m llamacpp/text",
        "text is not a GGUF file. Choose a .gguf file; llama.cpp does not read other formats.",
    ),
    Mistake(
        "run -d DATA -m replay/text",
        "text is not the archive of a run; create one with `ragbed export RUN --to archive`",
        code=1,
    ),
    Mistake(
        "run -d DATA -m python/my_rag",
        "python/my_rag: my_rag has no function ''. Use python/<module>:<function>.",
    ),
    Mistake(
        "run -d DATA -m python/my_rga:answer",
        "python/my_rga:answer: my_rga cannot be imported from this folder or the installed packages: "
        "ModuleNotFoundError: No module named 'my_rga'. To see where the error occurs, run: python -c 'import my_rga'",
    ),
    Mistake(
        "run -d DATA -m python/my_rag:answr",
        "python/my_rag:answr: my_rag has no function 'answr'. Use python/<module>:<function>.",
    ),
]
KEYS_AND_URLS = [
    Mistake(
        "run -d DATA -m openai/gpt-4o",
        "openai/gpt-4o requires an API key, but the environment variable OPENAI_API_KEY is not set. Set it, e.g. "
        "export OPENAI_API_KEY=<your key>",
    ),
    Mistake(
        "run -d DATA -m openai/gpt-4o",
        "OPENAI_API_KEY contains characters that are not allowed in an API key. Copy the key again.",
        env={"OPENAI_API_KEY": "ключ"},
    ),
    Mistake(
        "run -d DATA -m openai-api/myserver/mymodel",
        "MYSERVER_BASE_URL is not set. Set it to the server's URL, e.g. http://host:8000/v1.",
    ),
    Mistake(
        "run -d DATA -m openai-api/myserver/mymodel",
        f"the URL of openai-api/myserver/mymodel {_WRONG_URL}",
        env={"MYSERVER_BASE_URL": "localhost:8000"},
    ),
    Mistake(
        "run -d DATA -m openai/gpt-4o",
        f"the URL of openai/gpt-4o {_WRONG_URL}",
        env={"OPENAI_BASE_URL": "host/v1"},
    ),
    Mistake(
        "run -d s3://bucket/x.jsonl -m scripted/oracle",
        "a dataset cannot be a URL. Download the file, and use its path.",
    ),
    Mistake("data get rgb --mirror mirror", "--mirror mirror is not a URL. Use https://…"),
]
DATASETS = [
    Mistake("run -m scripted/oracle -d mmlu", f"there is no file or dataset named mmlu. {_NO_DATASET}"),
    Mistake(
        "run -m scripted/oracle -d en_refin",
        f"there is no file or dataset named en_refin. Did you mean 'en_refine'? {_NO_DATASET}",
    ),
    Mistake(
        "run -m scripted/oracle -d rgb",
        "rgb is a set of datasets. Choose one of them: en, en_refine, en_int, en_fact, zh, zh_refine, zh_int, zh_fact.",
    ),
    Mistake(
        "run -m scripted/oracle -d smollm2",
        "smollm2 is a model, not a dataset. Choose a dataset: <datasets>, or a file.",
    ),
    Mistake(
        "run -m scripted/oracle -d en_refine",
        "en_refine has not been downloaded yet. Download it with: ragbed data get rgb",
    ),
    Mistake(
        "run -m scripted/oracle -d bad.jsonl",
        "bad.jsonl:1: JSON is malformed: invalid character (byte 4); each line must be one JSON object in UTF-8",
        code=1,
    ),
    Mistake(
        "run -m scripted/oracle -d other.jsonl",
        "other.jsonl:1: unknown record format; expected the field 'question' (native) or 'query' (rgb), but "
        "found a; see docs/reference/file-formats.md",
        code=1,
    ),
    Mistake("run -m scripted/oracle -d empty.jsonl", "empty.jsonl is empty; expected one JSON object per line", code=1),
    Mistake(
        "run -m scripted/oracle -d empty",
        "empty is a folder without dataset files (.jsonl, .json, .ndjson). Check the path.",
    ),
    Mistake("run -m scripted/oracle -d files", "files is a folder. Choose a file: files/a.jsonl."),
    Mistake(
        "run -m scripted/oracle -d =bad.jsonl",
        "'=bad.jsonl': the name before '=' must not be empty or contain '/'.",
    ),
    Mistake(
        "run -m scripted/oracle -d DATA -d DATA",
        "2 datasets are named 'ragbed-mini-en_base'. Rename one with NAME=PATH.",
    ),
    Mistake(
        "data get rbg",
        "unknown dataset or model 'rbg'. Did you mean 'rgb'? Known: figure1, ragbed-mini, rgb, qwen2.5-1.5b, smollm2.",
    ),
]
NO_CASES = [
    Mistake(
        "RUN --noise 0.5 --testbeds noise",
        f"No case can be built. Most frequent reason (3 of 3 cases): {_NOT_EVEN}. {_OTHER_VALUES}; `ragbed export "
        "DATA --to jsonl` counts the feasible cases.",
    ),
    Mistake(
        "RUN --num-docs 50",
        "No case can be built. Most frequent reason (3 of 18 cases): the case requires 50 supporting documents, "
        f"but the item has only 6. {_OTHER_VALUES}; `ragbed export DATA --to jsonl` counts the feasible cases.",
    ),
    Mistake(
        "RUN --testbeds counterfactual",
        "--testbeds counterfactual: ragbed-mini-en_base has no counterfactual item in en or zh among the first "
        "3. Found: 60 base items in en (testbeds noise, rejection, closed-book). Change --testbeds, --limit or "
        "--lang, or use another dataset, e.g. ragbed-mini-en_fact.",
    ),
    Mistake(
        "RUN --lang zh",
        "ragbed-mini-en_base has no item for these testbeds in zh among the first 3. Found: 60 base items in en "
        "(testbeds noise, rejection, closed-book). Change --testbeds, --limit or --lang, or use another dataset.",
    ),
    Mistake(
        "RUN --noise 1 --testbeds noise",
        "--noise 1: noise accepts ratios below 1. Choose another ratio or testbed.",
    ),
    Mistake(
        "run -m scripted/oracle -d ragbed-mini-en_fact --true-ratio 0.3 --testbeds counterfactual",
        "No case can be built. Most frequent reason (20 of 20 cases): with a true-document ratio of 0.3, the "
        f"number of true documents (1.5 of 5) would not be a whole number. {_OTHER_VALUES}; `ragbed export DATA "
        "--to jsonl` counts the feasible cases.",
    ),
    Mistake(
        "export DATA --limit 3 --noise 0.5 --testbeds noise --to jsonl",
        f"No case can be built; the reasons are listed above. {_OTHER_VALUES}.",
    ),
]
OPTIONS = [
    Mistake("rn", "Error: No such command 'rn'. (Did you mean one of: 'rank', 'run'?)"),
    Mistake("run -m scripted/oracle", "Error: Missing option '--data' / '-d'."),
    Mistake("run -d DATA --model", "Error: Option '--model' requires an argument."),
    Mistake("RUN --nois 0.2", "Error: No such option '--nois'. Did you mean '--noise'?"),
    Mistake("RUN extra", "Error: Got unexpected extra argument (extra)"),
    Mistake(
        "RUN --testbeds nois",
        "unknown testbed 'nois'. Did you mean 'noise'? Known: noise, rejection, integration, counterfactual, "
        "conflict, length, closed-book, <any>.",
    ),
    Mistake("RUN --noise many", "--noise 'many' is not a ratio. Use a number from 0 to 1, e.g. 0.4, 40% or 2/5."),
    Mistake("RUN --noise 0,,0.2", "--noise '0,,0.2' contains an empty value. Separate values with single commas."),
    Mistake(
        "RUN --num-docs five",
        "--num-docs five is not an integer between 1 and 10,000. To evaluate without documents, use --testbeds "
        "closed-book.",
    ),
    Mistake(
        "run -m scripted/oracle -d DATA --limit 0",
        "--limit '0' is neither a positive number of items nor a fraction between 0 and 1. Use a value such as "
        "50 or 0.1.",
    ),
    Mistake("RUN --lang fr", "unknown language 'fr'. Known: en, zh."),
    Mistake(
        "RUN --profile robst",
        "unknown profile 'robst'. Did you mean 'robust'? Known: paper, code-2023, code-2024, robust.",
    ),
    Mistake("RUN --positions al", "--positions 'al' is not one of balanced, all. Did you mean 'all'?"),
    Mistake(
        "RUN --distractors relatd",
        "unknown distractor condition 'relatd'. Did you mean 'related'? Known: related, random, fixed.",
    ),
    Mistake(
        "RUN --strategies quot",
        "unknown prompting strategy 'quot'. Did you mean 'quote'? Known: quote, numbered, unwarned, decompose, <any>",
    ),
    Mistake("RUN --temperature hot", "--temperature 'hot' is out of range. Use 'none' or a number from 0 to 100."),
    Mistake(
        "RUN --repeats 0",
        "--repeats 0 is out of range. Use an integer of at least 1.",
    ),
    Mistake("RUN --max-tokens 0", "--max-tokens '0' is out of range. Use 'auto' or an integer of at least 1."),
    Mistake(
        "RUN --timeout 0",
        "--timeout 0 is out of range. Use a number greater than 0.",
    ),
    Mistake(
        "RUN --budget 1",
        "--budget: the price of scripted/oracle is unknown, <any> Set its price <any> --price 0.15,0.6 <any>",
    ),
    Mistake(
        "RUN --preset vicuna",
        "unknown preset 'vicuna'. Did you mean 'vicuna-7b-v1.3'? Known: chatgpt, chatglm-6b, chatglm2-6b, "
        "vicuna-7b-v1.3, qwen-7b-chat, belle-7b-2m.",
    ),
    Mistake("RUN --engine slurm", "--engine 'slurm' is not one of local, ray."),
    Mistake(
        "RUN --cluster head:6379",
        "--cluster head:6379 requires a Ray cluster. Add --engine ray, or remove --cluster.",
    ),
    Mistake("RUN --shard 3/2", "--shard '3/2' does not have the form I/N with I from 1 to N, e.g. 2/8."),
    Mistake(
        "RUN --fail-under noise",
        "--fail-under noise: use TESTBED.METRIC[@CONDITION][:LANG]=SHARE, e.g. noise.accuracy@0.8:en=0.6, "
        "or for an own RAG system accuracy=0.7, accuracy@noisy=0.6, refusal=0.8 or recall=0.9.",
    ),
    Mistake("RUN --fail-under noise.acc=0.5", "unknown metric 'acc'. Did you mean 'accuracy'? Known: accuracy, <any>"),
    Mistake(
        "RUN --fail-under nois.accuracy=0.5",
        "unknown testbed 'nois'. Did you mean 'noise'? Known: noise, position, rejection, integration, "
        "counterfactual, conflict, length, closed-book, <any>",
    ),
    Mistake(
        "RUN --fail-under noise.accuracy=2",
        "--fail-under noise.accuracy=2: the threshold must be between 0 and 1, or between 0% and 100%.",
    ),
    Mistake("RUN --out ''", "--out: the value is empty. Give a file or a name."),
    Mistake(
        "RUN -o https://host/run",
        "--out: URLs are not supported. Use a local file or folder.",
    ),
    Mistake("RUN -o text", "text is a file, but a run must be a folder. Choose another path for --out."),
    Mistake(
        "RUN -o good --seed 1",
        "good was created with --seed 0, but this command uses --seed 1. Use the same settings, or choose "
        "another folder for --out.",
    ),
    Mistake(
        "RUN --prompt none",
        "--prompt none: the folder contains no instructions. Create at least one of these files or its "
        "counterpart in zh/: en/system.md, en/user.md, en/closed-book.system.md, en/closed-book.user.md.",
    ),
    Mistake(
        "report good -f docx",
        "--format 'docx' is not one of text, md, html, csv, json, site, svg, png, pdf.",
    ),
    Mistake("report good --scorer robst", "unknown scorer 'robst'. Did you mean 'robust'? Known: code, paper, robust."),
    Mistake("compare good", "Error: Missing argument 'B'."),
    Mistake("compare good:gpt good", "unknown model 'gpt'. Known: scripted/oracle."),
    Mistake(
        "compare good good --fail-if-worse lots",
        "--fail-if-worse 'lots' is not a fraction between 0 and 1. Use a value such as 0.03 or 3%.",
    ),
    Mistake(
        "diagnose good --show E99",
        "unknown error type 'E99'. Did you mean 'E9'? Known: E1, E2, E3, E4, E5, E6, E8, E9, E11, E12, unclassified.",
    ),
    Mistake(
        "judge good -m scripted/oracle --criteria refused",
        "unknown criterion 'refused'. Did you mean 'refusal'? Known: refusal, flag, correct, sufficient, "
        "supported, code.rej_star, code.ed_star.",
    ),
    Mistake("judge good -m scripted/oracle --testbeds noises", "unknown testbed 'noises'. Did you mean 'noise'? <any>"),
    Mistake("judge good -m scripted/oracle --sample 20", "--sample N and --out FILE must be given together."),
    Mistake(
        "report good --disagreements robust",
        "--disagreements 'robust' is not one of code, paper.",
    ),
    Mistake("lint DATA --only recrd", "unknown rule 'recrd'. Did you mean 'record'? Known: record, <any>"),
    Mistake(
        "synth -o news --perturbations hedges",
        "unknown perturbation 'hedges'. Did you mean 'hedge'? Known: mix, none, distance, hedge, sibling, "
        "outdated, partial, contradiction, agreement, random, refusal, overlap, length.",
    ),
    Mistake(
        "export DATA --to nativ -o x.jsonl",
        "unknown format 'nativ'. Did you mean 'native'? Known: native, rgb, jsonl, inspect, lm-eval, hf, corpora.",
    ),
    Mistake(
        "export good --to native -o x.jsonl",
        "unknown run format 'native'. Did you mean 'archive'? Known: jsonl, parquet, archive, rgb.",
    ),
    Mistake(
        "import text --from rbg -d DATA -o new",
        "unknown format 'rbg'. Did you mean 'rgb'? Known: rgb, jsonl, archive, traces, openinference, langfuse, "
        "columns.",
    ),
    Mistake(
        "import text --from jsonl -d DATA -o new",
        "--from jsonl requires the name of the model that produced the answers. Add --model NAME.",
    ),
]
FILES = [
    *(
        Mistake(typed, f"none does not exist. {_CHOOSE_RUN}")
        for typed in (
            "status none",
            "report none",
            "compare good none",
        )
    ),
    Mistake("status empty", f"empty contains no run (run.sqlite is missing). {_CHOOSE_RUN}"),
    Mistake(
        "status broken",
        "broken/run.sqlite is damaged or not a run (file is not a database); restore the file from a backup",
        code=1,
    ),
    Mistake("status text", f"text is a file, but a run must be a folder. {_CHOOSE_RUN}"),
    Mistake(
        "report none -f site -o site",
        "none is not a folder; choose a run (`ragbed run … --out RUN`) or a folder of runs.",
    ),
    Mistake("judge good -m scripted/oracle --labels none.jsonl", "none.jsonl: no such file. Check the path."),
    Mistake(
        "judge good -m scripted/oracle --labels text",
        "text:1: the line is not a valid label: JSON is malformed: invalid character (byte 0); fix or remove it",
        code=1,
    ),
    Mistake("report good -f md -o empty", "empty is a folder. Choose a file inside it."),
    Mistake("build run none.toml", "none.toml does not exist; to write a recipe, run `ragbed build init DIR`."),
    Mistake("build run text", "text is not valid TOML: <any>", code=1),
    Mistake(
        "build init none -m scripted/echo",
        "none does not exist; pass the folder or file with the documents.",
    ),
    Mistake("review none", "none does not exist. Choose a build folder or a dataset (*.jsonl)."),
    Mistake("review empty", "empty contains no dataset (*.jsonl). Choose a build folder or a dataset."),
    Mistake("import none --from rgb -d DATA -o new", "none: no such file. Check the path."),
    Mistake(
        "import text --from rgb -d DATA -o new",
        "text does not match the naming pattern of the original code's result files. Rename it to "
        "prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json.",
    ),
    Mistake("merge good -o good", "good already contains a run. Choose a new folder for --out."),
]

_ALL = [*MODELS, *KEYS_AND_URLS, *DATASETS, *NO_CASES, *OPTIONS, *FILES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run, and with files and folders of the wrong kind."""
    folder = tmp_path_factory.mktemp("mistakes")
    ragbed.run("scripted/oracle", _DATA, limit=3, testbeds="noise", out=folder / "good", progress=False)
    files = {
        "bad.jsonl": "not json\n",
        "other.jsonl": '{"a": 1}\n',
        "empty.jsonl": "",
        "files/a.jsonl": "{}\n",
        "text": "x\n",
        "broken/run.sqlite": "junk",
        "my_rag.py": 'def answer(question, documents, lang):\n    return ""\n',
    }
    (folder / "empty").mkdir()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, "utf-8")
    return folder


def _pattern(message: str) -> str:
    lists = {"<providers>": ", ".join(PROVIDERS), "<datasets>": ", ".join(dataset_names())}
    for mark, text in lists.items():
        message = message.replace(mark, text)
    start = "" if message.startswith("Error: ") else "ragbed: "
    return start + ".+".join(map(re.escape, message.split("<any>")))


@pytest.mark.parametrize("mistake", _ALL, ids=[f"{mistake.typed} {dict(mistake.env) or ''}" for mistake in _ALL])
def test_a_mistake_is_answered_with_problem_cause_and_fix(
    folder: Path, mistake: Mistake, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(folder)
    for variable in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(variable, raising=False)
    command = re.sub(r"\bDATA\b", _DATA, re.sub(r"^RUN\b", _RUN, mistake.typed))
    before = sorted(path.name for path in folder.iterdir())
    done = type_command(*shlex.split(command), env={"RAGBED_DATA_DIR": str(tmp_path), **mistake.env})
    assert done.code == mistake.code
    last = done.err.rstrip("\n").rpartition("\n")[2]
    assert re.fullmatch(_pattern(mistake.message), last), last
    assert "Traceback" not in done.err
    left = {path.name for path in folder.iterdir()} - {*before, "runs", "__pycache__"}
    assert not left  # a refused command writes nothing
    assert not any((folder / "runs").glob("*"))
