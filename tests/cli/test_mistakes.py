"""Every error that a user can reach by mistyping a model, dataset, option, file, URL or key, with its complete message.

A message states the problem with the value, the cause, and the fix.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import NamedTuple

import pytest

import ragbed
from ragbed.data.catalog import dataset_names
from ragbed.models import PROVIDERS
from tests.cli.typed import type_command

_DATA = "ragbed-mini-en_base"
_RUN = "run -m scripted/oracle -d DATA --limit 3"

_MARKS = {
    "<form>": "A model string has the form provider/model, e.g. factory/my_rag:make; the providers are <providers>.",
    "<choose-run>": "Choose the folder of a run (`ragbed run … --out RUN`).",
    "<other-values>": "Choose other values for --noise, --num-docs, --true-ratio or --distractors, or another dataset",
    "<wrong-url>": "is not valid because it lacks a host or does not start with http:// or https://. Correct the model "
    "string or the base URL variable, e.g. http://host:8000/v1.",
    "<no-dataset>": "Check the path, or choose a dataset: <datasets>.",
    "<providers>": ", ".join(PROVIDERS),
    "<datasets>": ", ".join(dataset_names()),
}
"""Texts of several messages."""

_TABLE = """
run -d DATA -m gpt-4o => --model gpt-4o: 'gpt-4o' is not a known provider. <form>
run -d DATA -m OpenAI/gpt-4o => --model OpenAI/gpt-4o: 'OpenAI' is not a known provider. Did you mean openai/gpt-4o?
    <form>
run -d DATA -m Qwen/Qwen2.5-7B-Instruct => --model Qwen/Qwen2.5-7B-Instruct: 'Qwen' is not a known provider. <form>
run -d DATA -m models/qwen.gguf => --model models/qwen.gguf: 'models' is not a known provider. Did you mean
    llamacpp/models/qwen.gguf? <form>
run -d DATA -m my_rag.py:make => --model my_rag.py:make: 'my_rag.py:make' is not a known provider. <form>
run -d DATA -m openai => --model openai: the model name is missing after the provider. Use openai/<model>.
run -d DATA -m mine=something => --model something: 'something' is not a known provider. <form>
run -d DATA -m 'my name=openai/gpt-4o' => --model my name=openai/gpt-4o: the name 'my name' before '=' may only
    contain letters, digits, '.', '_' and '-'.
run -d DATA -m https://host/ask => --model https://host/ask: to evaluate a system at a URL, use the provider `http`:
    http/https://host/ask
run -d DATA -m openai-api/myserver => openai-api/myserver: the server name or the model name is missing. Use
    openai-api/<name>/<model>.
run -d DATA -m scripted/orakle => unknown scripted model 'orakle'. Did you mean 'oracle'? Known: oracle, refuser,
    <any>
run -d DATA -m bundled/smollm => unknown bundled model 'smollm'. Did you mean 'smollm2'? Known: qwen2.5-1.5b, smollm2.
run -d DATA -m llamacpp/none.gguf => llamacpp/none.gguf: no such file. Choose a .gguf file, e.g.
    llamacpp/models/qwen.gguf.
run -d DATA -m llamacpp/text => text is not a GGUF file. Choose a .gguf file; llama.cpp does not read other formats.
run -d DATA -m replay/text => (exit code 1) text is not the archive of a run; create one with `ragbed export RUN --to
    archive`
run -d DATA -m python/my_rag => python/my_rag: my_rag has no function ''. Use python/<module>:<function>.
run -d DATA -m python/my_rga:answer => python/my_rga:answer: my_rga cannot be imported from this folder or the
    installed packages: ModuleNotFoundError: No module named 'my_rga'. To see where the error occurs, run: python -c
    'import my_rga'
run -d DATA -m python/my_rag:answr => python/my_rag:answr: my_rag has no function 'answr'. Use
    python/<module>:<function>.

run -d DATA -m openai/gpt-4o => openai/gpt-4o requires an API key, but the environment variable OPENAI_API_KEY is not
    set. Set it, e.g. export OPENAI_API_KEY=<your key>
OPENAI_API_KEY=ключ run -d DATA -m openai/gpt-4o => OPENAI_API_KEY contains characters that are not allowed in an API
    key. Copy the key again.
run -d DATA -m openai-api/myserver/mymodel => MYSERVER_BASE_URL is not set. Set it to the server's URL, e.g.
    http://host:8000/v1.
MYSERVER_BASE_URL=localhost:8000 run -d DATA -m openai-api/myserver/mymodel => the URL of openai-api/myserver/mymodel
    <wrong-url>
OPENAI_BASE_URL=host/v1 run -d DATA -m openai/gpt-4o => the URL of openai/gpt-4o <wrong-url>
run -d s3://bucket/x.jsonl -m scripted/oracle => a dataset cannot be a URL. Download the file, and use its path.
data get rgb --mirror mirror => --mirror mirror is not a URL. Use https://…

run -m scripted/oracle -d mmlu => there is no file or dataset named mmlu. <no-dataset>
run -m scripted/oracle -d en_refin => there is no file or dataset named en_refin. Did you mean 'en_refine'?
    <no-dataset>
run -m scripted/oracle -d rgb => rgb is a set of datasets. Choose one of them: en, en_refine, en_int, en_fact, zh,
    zh_refine, zh_int, zh_fact.
run -m scripted/oracle -d smollm2 => smollm2 is a model, not a dataset. Choose a dataset: <datasets>, or a file.
run -m scripted/oracle -d en_refine => en_refine has not been downloaded yet. Download it with: ragbed data get rgb
run -m scripted/oracle -d bad.jsonl => (exit code 1) bad.jsonl:1: JSON is malformed: invalid character (byte 4); each
    line must be one JSON object in UTF-8
run -m scripted/oracle -d other.jsonl => (exit code 1) other.jsonl:1: unknown record format; expected the field
    'question' (native) or 'query' (rgb), but found a; see docs/reference/file-formats.md
run -m scripted/oracle -d empty.jsonl => (exit code 1) empty.jsonl is empty; expected one JSON object per line
run -m scripted/oracle -d empty => empty is a folder without dataset files (.jsonl, .json, .ndjson). Check the path.
run -m scripted/oracle -d files => files is a folder. Choose a file: files/a.jsonl.
run -m scripted/oracle -d =bad.jsonl => '=bad.jsonl': the name before '=' must not be empty or contain '/'.
run -m scripted/oracle -d DATA -d DATA => 2 datasets are named 'ragbed-mini-en_base'. Rename one with NAME=PATH.
data get rbg => unknown dataset or model 'rbg'. Did you mean 'rgb'? Known: figure1, ragbed-mini, ramdocs, rgb,
    qwen2.5-1.5b, smollm2.

RUN --noise 0.5 --testbeds noise => No case can be built. Most frequent reason (3 of 3 cases): a noise ratio of 0.5
    would require 2.5 distractors among 5 documents; use 0.4 or 0.6. <other-values>; `ragbed export DATA --to jsonl`
    counts the feasible cases.
RUN --num-docs 50 => No case can be built. Most frequent reason (3 of 18 cases): the case requires 50 supporting
    documents, but the item has only 6. <other-values>; `ragbed export DATA --to jsonl` counts the feasible cases.
RUN --testbeds counterfactual => --testbeds counterfactual: ragbed-mini-en_base has no counterfactual item in en or zh
    among the first 3. Found: 60 base items in en (testbeds noise, rejection, closed-book). Change --testbeds, --limit
    or --lang, or use another dataset, e.g. ragbed-mini-en_fact.
RUN --lang zh => ragbed-mini-en_base has no item for these testbeds in zh among the first 3. Found: 60 base items in
    en (testbeds noise, rejection, closed-book). Change --testbeds, --limit or --lang, or use another dataset.
RUN --noise 1 --testbeds noise => --noise 1: noise accepts ratios below 1. Choose another ratio or testbed.
run -m scripted/oracle -d ragbed-mini-en_fact --true-ratio 0.3 --testbeds counterfactual => No case can be built. Most
    frequent reason (20 of 20 cases): with a true-document ratio of 0.3, the number of true documents (1.5 of 5) would
    not be a whole number. <other-values>; `ragbed export DATA --to jsonl` counts the feasible cases.
export DATA --limit 3 --noise 0.5 --testbeds noise --to jsonl => No case can be built; the reasons are listed above.
    <other-values>.

rn => Error: No such command 'rn'. (Did you mean one of: 'rank', 'run'?)
run -m scripted/oracle => Error: Missing option '--data' / '-d'.
run -d DATA --model => Error: Option '--model' requires an argument.
RUN --nois 0.2 => Error: No such option '--nois'. Did you mean '--noise'?
RUN extra => Error: Got unexpected extra argument (extra)
RUN --testbeds nois => unknown testbed 'nois'. Did you mean 'noise'? Known: noise, rejection, integration,
    counterfactual, conflict, length, closed-book, <any>.
RUN --noise many => --noise 'many' is not a ratio. Use a number from 0 to 1, e.g. 0.4, 40% or 2/5.
RUN --noise 0,,0.2 => --noise '0,,0.2' contains an empty value. Separate values with single commas.
RUN --num-docs five => --num-docs five is not an integer between 1 and 10,000. To evaluate without documents, use
    --testbeds closed-book.
run -m scripted/oracle -d DATA --limit 0 => --limit '0' is neither a positive number of items nor a fraction between 0
    and 1. Use a value such as 50 or 0.1.
RUN --lang fr => unknown language 'fr'. Known: en, zh.
RUN --profile robst => unknown profile 'robst'. Did you mean 'robust'? Known: paper, code-2023, code-2024, robust.
RUN --positions al => --positions 'al' is not one of balanced, all. Did you mean 'all'?
RUN --distractors relatd => unknown distractor condition 'relatd'. Did you mean 'related'? Known: related, random,
    fixed.
RUN --strategies quot => unknown prompting strategy 'quot'. Did you mean 'quote'? Known: quote, numbered, unwarned,
    decompose, <any>
RUN --temperature hot => --temperature 'hot' is out of range. Use 'none' or a number from 0 to 100.
RUN --repeats 0 => --repeats 0 is out of range. Use an integer of at least 1.
RUN --max-tokens 0 => --max-tokens '0' is out of range. Use 'auto' or an integer of at least 1.
RUN --timeout 0 => --timeout 0 is out of range. Use a number greater than 0.
RUN --budget 1 => --budget: the price of scripted/oracle is unknown, <any> Set its price <any> --price 0.15,0.6 <any>
RUN --preset vicuna => unknown preset 'vicuna'. Did you mean 'vicuna-7b-v1.3'? Known: chatgpt, chatglm-6b,
    chatglm2-6b, vicuna-7b-v1.3, qwen-7b-chat, belle-7b-2m.
RUN --engine slurm => --engine 'slurm' is not one of local, ray.
RUN --cluster head:6379 => --cluster head:6379 requires a Ray cluster. Add --engine ray, or remove --cluster.
RUN --shard 3/2 => --shard '3/2' does not have the form I/N with I from 1 to N, e.g. 2/8.
RUN --shard a/b => --shard 'a/b' does not have the form I/N with I from 1 to N, e.g. 2/8.
RUN --fail-under noise => --fail-under noise: use TESTBED.METRIC[@CONDITION][:LANG]=SHARE, e.g.
    noise.accuracy@0.8:en=0.6, or for your own RAG system accuracy=0.7, accuracy@noisy=0.6, refusal=0.8 or recall=0.9.
RUN --fail-under noise.acc=0.5 => unknown metric 'acc'. Did you mean 'accuracy'? Known: accuracy, <any>
RUN --fail-under nois.accuracy=0.5 => unknown testbed 'nois'. Did you mean 'noise'? Known: noise, position, rejection,
    integration, counterfactual, conflict, length, closed-book, <any>
RUN --fail-under noise.accuracy=2 => --fail-under noise.accuracy=2: the threshold must be between 0 and 1, or between
    0% and 100%.
RUN --out '' => --out: the value is empty. Give a file or a name.
RUN -o https://host/run => --out: URLs are not supported. Use a local file or folder.
RUN -o text => text is a file, but a run must be a folder. Choose another path for --out.
RUN -o good --seed 1 => good was created with --seed 0, but this command uses --seed 1. Use the same settings, or
    choose another folder for --out.
RUN --prompt none => --prompt none: the folder contains no instructions. Create at least one of these files or its
    counterpart in zh/: en/system.md, en/user.md, en/closed-book.system.md, en/closed-book.user.md.
report good -f docx => --format 'docx' is not one of text, md, html, csv, json, site, svg, png, pdf.
report good --scorer robst => unknown scorer 'robst'. Did you mean 'robust'? Known: code, paper, robust.
compare good => Error: Missing argument 'B'.
compare good:gpt good => unknown model 'gpt'. Known: scripted/oracle.
compare good good --fail-if-worse lots => --fail-if-worse 'lots' is not a ratio. Use a number from 0 to 1, e.g. 0.4,
    40% or 2/5.
diagnose good --show E99 => unknown error type or cause 'E99'. Did you mean 'E9'? Known: E1, E2, E3, E4, E5, E6, E8,
    E9, E11, E12, E13, unclassified, not-in-corpus, not-retrieved, ranked-too-low, not-used, contradicted,
    followed-instruction, refused-despite-evidence, answered-without-evidence, … (22 in total).
judge good -m scripted/oracle --criteria refused => unknown criterion 'refused'. Did you mean 'refusal'? Known:
    refusal, flag, correct, sufficient, supported, code.rej_star, code.ed_star.
judge good -m scripted/oracle --testbeds noises => unknown testbed 'noises'. Did you mean 'noise'? <any>
judge good -m scripted/oracle --sample 20 => --sample N and --out FILE must be given together.
report good --disagreements robust => --disagreements 'robust' is not one of code, paper.
lint DATA --only recrd => unknown rule 'recrd'. Did you mean 'record'? Known: record, <any>
synth -o news --perturbations hedges => unknown perturbation 'hedges'. Did you mean 'hedge'? Known: mix, none,
    distance, hedge, sibling, outdated, partial, contradiction, agreement, random, refusal, overlap, length.
export DATA --to nativ -o x.jsonl => unknown format 'nativ'. Did you mean 'native'? Known: native, rgb, jsonl,
    inspect, lm-eval, hf, corpora.
export good --to native -o x.jsonl => unknown run format 'native'. Did you mean 'archive'? Known: jsonl, parquet,
    archive, rgb.
import text --from rbg -d DATA -o new => unknown format 'rbg'. Did you mean 'rgb'? Known: rgb, jsonl, archive, traces,
    openinference, langfuse, columns.
import text --from jsonl -d DATA -o new => --from jsonl requires the name of the model that produced the answers. Add
    --model NAME.

status none => none does not exist. <choose-run>
report none => none does not exist. <choose-run>
compare good none => none does not exist. <choose-run>
status empty => empty contains no run (run.sqlite is missing). <choose-run>
status broken => (exit code 1) broken/run.sqlite is damaged or not a run (file is not a database); restore the file
    from a backup
status text => text is a file, but a run must be a folder. <choose-run>
report none -f site -o site => none is not a folder; choose a run (`ragbed run … --out RUN`) or a folder of runs.
judge good -m scripted/oracle --labels none.jsonl => none.jsonl: no such file. Check the path.
judge good -m scripted/oracle --labels text => (exit code 1) text:1: the line is not a valid label: JSON is malformed:
    invalid character (byte 0); fix or remove it
report good -f md -o empty => empty is a folder. Choose a file inside it.
build run none.toml => none.toml does not exist; to write a recipe, run `ragbed build init DIR`.
build run text => (exit code 1) text is not valid TOML: <any>
build init none -m scripted/echo => none does not exist; pass the folder or file with the documents.
review none => none does not exist. Choose a build folder or a dataset (*.jsonl).
review empty => empty contains no dataset (*.jsonl). Choose a build folder or a dataset.
import none --from rgb -d DATA -o new => none: no such file. Check the path.
import text --from rgb -d DATA -o new => text does not match the naming pattern of the original code's result files.
    Rename it to prediction_<data>_<model>_temp<t>_noise<r>_passage<k>_correct<c>.json.
merge good -o good => good already contains a run. Choose a new folder for --out.
"""
"""Mistyped commands, `=>`, and the last line that each must print to stderr; an indented line continues the one above.

In commands, `DATA` is a bundled dataset and `RUN` a valid `ragbed run` command; variables of the environment come
first. In messages, `<any>` is text that depends on libraries and installed packages. The exit code is 2 if none is
named.
"""


class Mistake(NamedTuple):
    """A mistyped command, what it prints, its exit code, and its environment."""

    typed: str
    message: str
    code: int
    env: dict[str, str]


def _read_mistake(line: str) -> Mistake:
    found = re.fullmatch(r"((?:[A-Z_]+=\S+ )*)(.+?) => (?:\(exit code (\d)\) )?(.+)", line)
    assert found is not None, line
    variables, typed, code, message = found.groups()
    return Mistake(typed, message, int(code or 2), dict(one.split("=", 1) for one in variables.split()))


_MISTAKES = [_read_mistake(line) for line in _TABLE.replace("\n    ", " ").splitlines() if line]


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
    for mark, text in _MARKS.items():
        message = message.replace(mark, text)
    start = "" if message.startswith("Error: ") else "ragbed: "
    return start + ".+".join(map(re.escape, message.split("<any>")))


@pytest.mark.parametrize("mistake", _MISTAKES, ids=[f"{mistake.typed} {mistake.env or ''}" for mistake in _MISTAKES])
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
