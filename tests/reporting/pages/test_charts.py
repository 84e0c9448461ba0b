"""Drawings read back as XML."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from ragbed.reporting.pages.charts import (
    PICTURES,
    WIDTH,
    Chart,
    ChartRow,
    ChartTexts,
    Series,
    StackSegment,
    curves,
    fit,
    fit_names,
    heat,
    safe_name,
    spread,
    stacks,
)
from ragbed.schema import Estimate

_SVG = "{http://www.w3.org/2000/svg}"


def _share(value: float, low: float | None = None, high: float | None = None, n: int = 50) -> Estimate:
    counts = {"n": n, "questions": n, "asked": n, "errors": 0, "infeasible": 0}
    return Estimate(metric="accuracy", value=value, low=low, high=high, **counts)


def _curves(*names: str) -> Chart:
    points = {0.0: _share(0.9, 0.8, 0.95), 0.8: _share(0.5, 0.4, 0.6)}
    words = ChartTexts("Noise", "How it falls", "model", "noise", "right", "no documents")
    return curves("noise", words, [Series(name, points, _share(0.1)) for name in names])


def _all() -> list[Chart]:
    segments = [StackSegment("right", 1), StackSegment("wrong", 2)]
    return [
        _curves("a/b", "中文模型"),
        stacks("s", ChartTexts("S", "d", "model"), segments, [ChartRow("m", (0.75, 0.25), n=8)]),
        heat("h", ChartTexts("H", "d", "model", "slot"), ["1.", "2."], [ChartRow("m", [0.25, None], "noise 0")]),
    ]


@pytest.mark.parametrize(
    ("places", "is_log", "shown"),
    [
        ([1, 5, 10, 20, 100], True, ["1", "5", "10", "20", "100"]),
        ([0.1, 0.5, 0.505, 0.51, 1.0], False, ["0.1", "0.5", "1"]),
    ],
)
def test_labels_of_the_horizontal_axis_do_not_overlap(places: list[float], is_log: bool, shown: list[str]) -> None:
    texts = ChartTexts("Risk", "d", "model", "coverage", "risk")
    series = Series("m", {at: _share(0.5) for at in places})
    root = ElementTree.fromstring(curves("c", texts, [series], is_log=is_log).as_file(follows_theme=True))
    labels = [text.text for text in root.iter(f"{_SVG}text") if text.get("text-anchor") == "middle"]
    assert labels == [*shown, "coverage"]


@pytest.mark.parametrize("chart", _all(), ids=lambda chart: chart.name)
def test_a_chart_is_xml_with_title_description_and_a_table(chart: Chart) -> None:
    root = ElementTree.fromstring(chart.as_file(follows_theme=True))
    title, description = root.find(f"{_SVG}title"), root.find(f"{_SVG}desc")
    assert title is not None
    assert description is not None
    assert (title.text, description.text) == (chart.title, chart.description)
    assert root.get("role") == "img"
    assert all(len(row) == len(chart.columns) for row in chart.rows)


@pytest.mark.parametrize("chart", _all(), ids=lambda chart: chart.name)
def test_nothing_is_drawn_outside_the_sheet(chart: Chart) -> None:
    height = float(chart.drawing.attributes[[name for name, _ in chart.drawing.attributes].index("height")][1])
    for mark in ElementTree.fromstring(chart.as_file(follows_theme=False)).iter():
        assert 0 <= float(mark.get("x", 0)) + float(mark.get("width", 0)) <= WIDTH
        assert 0 <= float(mark.get("y", 0)) <= height


def test_a_heading_of_two_words_is_written_in_two_lines() -> None:
    columns = ["correct → correct", "wrong → correct", "correct → wrong", "wrong → wrong"]
    chart = heat("h", ChartTexts("H", "d", "model"), columns, [ChartRow("m", [0.25] * 4)])
    shown = [text.text or "" for text in ElementTree.fromstring(chart.as_file(follows_theme=False)).iter(f"{_SVG}text")]
    assert not any("…" in text for text in shown)
    assert shown.count("correct →") == shown.count("correct") == 2


def test_an_svg_file_contains_its_colours() -> None:
    plain, themed = (_curves("m").as_file(follows_theme=follows) for follows in (False, True))
    assert "var(" not in plain + themed
    assert "prefers-color-scheme" not in plain
    assert "prefers-color-scheme:dark" in themed


def test_every_point_has_its_numbers() -> None:
    root = ElementTree.fromstring(_curves("m").as_file(follows_theme=False))
    told = [circle.findtext(f"{_SVG}title") for circle in root.iter(f"{_SVG}circle")]
    assert told == ["m, 0: 90.0% [80.0, 95.0], n = 50", "m, 0.8: 50.0% [40.0, 60.0], n = 50"]


def test_the_table_has_the_same_numbers() -> None:
    chart = _curves("m")
    assert chart.columns == ["model", "0", "0.8", "no documents"]
    assert chart.rows == [["m", "90.0 [80.0, 95.0] (n = 50)", "50.0 [40.0, 60.0] (n = 50)", "10.0 (n = 50)"]]


def test_series_of_one_colour_differ_in_their_dash() -> None:
    chart = _curves(*(f"m{number}" for number in range(16)))
    lines = [
        (mark.get("class"), mark.get("stroke-dasharray"))
        for mark in ElementTree.fromstring(chart.as_file(follows_theme=False)).iter(f"{_SVG}path")
        if (mark.get("class") or "").endswith(" line") and "L" in (mark.get("d") or "")
    ]
    assert len(set(lines)) == 16


def test_the_parts_of_a_bar_fill_it() -> None:
    blocks = [
        float(mark.get("width", 0))
        for mark in ElementTree.fromstring(_all()[1].as_file(follows_theme=False)).iter(f"{_SVG}rect")
        if mark.find(f"{_SVG}title") is not None
    ]
    assert blocks[0] == pytest.approx(3 * blocks[1])


@pytest.mark.parametrize(
    ("text", "shown"), [("short", "short"), ("abcdefghijklmnopqrst", "abc…opqrst"), ("模型" * 10, "模…型模型")]
)
def test_a_text_is_cut_inside_to_its_width(text: str, shown: str) -> None:
    assert fit(text, 64) == shown


def test_names_that_are_cut_stay_different() -> None:
    names = ["qwen2.5-7b-instruct-q4_k_m-from-the-hub-2025", "qwen2.5-7b-instruct-q8_0-from-the-hub-2025"]
    assert fit(names[0], 64) == fit(names[1], 64)
    assert len(set(fit_names(names, 64))) == 2
    assert fit_names(["short", "other"], 64) == ["short", "other"]
    assert fit_names([names[0], names[0]], 64) == [fit(names[0], 64, 7.2)] * 2


def test_two_sizes_of_a_model_have_different_labels_beside_other_models() -> None:
    sizes = ["Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-Coder-1.5B-Instruct"]
    others = ["SmolLM2-360M-Instruct", "Llama-3.2-1B-Instruct", "Qwen2.5-0.5B-Instruct"]
    width = 126  # the width of the labels at the ends of curves
    assert fit(sizes[0], width, 7.2) == fit(sizes[1], width, 7.2)
    shown = ["SmolL…0M-Instruct", "Llama…1B-Instruct", "Qwen2.5-0.5B…", "Qwen2.…oder-0.5B…", "Qwen2.…oder-1.5B…"]
    assert fit_names([*others, *sizes], width) == shown
    ends = ["Qwen2.5-Coder-7B-Instruct-AWQ-a-very-long-suffix", "Qwen2.5-Coder-7B-Instruct-AWQ-a-more-long-suffix"]
    assert len(set(fit_names(ends, 64))) == 2
    without_parts = ["a" * 20 + "x" + "b" * 20, "a" * 20 + "y" + "b" * 20]
    assert [name[0] for name in fit_names(without_parts, 64)] == ["1", "2"]


def test_labels_keep_their_distance_and_stay_inside() -> None:
    placed = spread([100, 100, 101, 10], 15, 0, 110)
    assert sorted(placed) == placed[3:] + sorted(placed[:3])
    assert all(b - a >= 15 for a, b in zip(sorted(placed), sorted(placed)[1:], strict=False))
    assert max(placed) <= 110


@pytest.mark.parametrize("name", ["../../etc/passwd", "a/b", "中文", "x" * 300, "", "a b"])
def test_no_name_leaves_its_folder(name: str) -> None:
    assert re.fullmatch(r"[A-Za-z0-9_.-]{1,100}", safe_name(name))
    assert not safe_name(name).startswith(".")


def test_names_that_differ_stay_different() -> None:
    assert len({safe_name(name) for name in ("a b", "a/b", "a-b", "a?b")}) == 4


@pytest.mark.parametrize(("ending", "begins"), [("svg", b"<svg "), ("png", b"\x89PNG"), ("pdf", b"%PDF-")])
def test_pictures_are_of_their_kind(ending: str, begins: bytes) -> None:
    assert PICTURES[ending](_curves("m")).startswith(begins)


def test_chinese_letters_are_drawn() -> None:
    """Letters without a shape would all be drawn alike."""
    drawn = {PICTURES["png"](_curves(name)) for name in ("鲁棒性", "噪声比", "反事实")}
    assert len(drawn) == 3, "no font here has Chinese letters: apt-get install fonts-noto-cjk"
