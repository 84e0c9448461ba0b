"""Responses that are scored inside another harness."""

from __future__ import annotations

import pytest

from ragbed.interop.exports.harness_tasks import numbers, pack, score_packed
from tests.runs.harness import make_case


@pytest.mark.parametrize("reply", ["", "It is gold-1."])
def test_a_filtered_response_gets_no_credit_on_any_track(reply: str) -> None:
    values = score_packed(pack(make_case(1)), reply, "content_filter")
    assert (values["verdict"], set(numbers(values).values())) == ("filtered", {0.0})
