"""Compare the scores of a thousand responses per testbed in ragbed, Inspect AI and lm-evaluation-harness.

    .venv-ports/bin/python -m benches harness_parity

The harnesses are installed in the environment that `make test-ports` uses.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
import warnings
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

from ragbed.schema import Lang
from tests.interop.harnesses.evaluation import (
    TESTBEDS,
    compare,
    evaluate_testbed,
    inspect_scores,
    lm_eval_scores,
    make_data,
    run_inspect,
    run_lm_eval,
)

_LANGS: tuple[Lang, ...] = ("en", "zh")


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument(
        "--replies", type=int, default=1_000, help="responses of each testbed, half of them in each language"
    )
    count = -(-parser.parse_args().replies // len(_LANGS))
    warnings.simplefilter("ignore")  # ignore warnings from the harnesses
    wrong, start = 0, time.monotonic()
    rows = {testbed: [0, 0, 0] for testbed in TESTBEDS}
    with tempfile.TemporaryDirectory() as folder:
        for lang in _LANGS:
            data = Path(folder, f"data-{lang}")
            data.mkdir()
            make_data(lang, data, count)
            for testbed in TESTBEDS:
                output = Path(folder, f"{lang}-{testbed}")
                output.mkdir()
                evaluated = evaluate_testbed(data, lang, testbed, count, output)
                in_inspect = compare(evaluated, inspect_scores(run_inspect(evaluated, output / "logs")))
                in_lm_eval = compare(evaluated, lm_eval_scores(run_lm_eval(evaluated, output / "results")))
                for column, found in enumerate((evaluated.scores, in_inspect, in_lm_eval)):
                    rows[testbed][column] += len(found)
                wrong += len(in_inspect) + len(in_lm_eval)
                for case in in_inspect + in_lm_eval:
                    print(f"differs: {case}")
    print("| testbed | responses | equal in Inspect AI | equal in lm-evaluation-harness |\n|---|---|---|---|")
    for testbed, (replies, inspect, lm_eval) in rows.items():
        print(f"| {testbed} | {replies:,} | {replies - inspect:,} | {replies - lm_eval:,} |")
    print(f"{time.monotonic() - start:.0f} s")
    return 1 if wrong else 0
