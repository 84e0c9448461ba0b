"""`ragbed paper` as typed."""

from __future__ import annotations

import json

from tests.cli.typed import type_command


def test_tables_and_findings_are_printed() -> None:
    done = type_command("paper")
    assert done.code == 0
    for text in (
        "Table 1.",
        "67.68",
        "Table 3.",
        "Table 5.",
        "Table 7.",
        "57.14",
        "201/297",
        "10/297",
        "95% interval 25–84%",
        "66 errors",
        "6.3 points",
    ):
        assert text in done.out
    assert "do not exist" in done.out
    assert " exist\n" not in done.out.replace("do not exist\n", "")


def test_json_is_one_line_and_the_rest_goes_to_standard_error() -> None:
    done = type_command("paper", "--json")
    told = json.loads(done.out)
    assert "Table 1." in done.err
    assert [verdict["certain"] for verdict in told["S-1"]["verdicts"]] == [0, 7, 11, 12]
    assert told["S-2"]["verdicts"][1]["possible"] == 12
    assert told["tables"]["noise"]["zh"]["BELLE-7B-2M"] == [92.0, 88.67, 85.33, 78.33, 67.68]
    assert len(told["S-1"]["comparisons"]) == 48
    assert told["S-4"]["errors"]["both"] == 122
