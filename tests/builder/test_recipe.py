"""Recipes: read strictly, shipped for the paper's sizes."""

from __future__ import annotations

import re
import tomllib
from datetime import date
from pathlib import Path

import pytest

from ragbed.builder.build_context import Build
from ragbed.builder.recipe import RecipeCounts, read_recipe
from ragbed.errors import RagbedError

GOOD = 'name = "n"\ngenerator = "m/x"\n[[sources]]\nkind = "folder"\nplace = "docs"\n'


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.toml"
    path.write_text(text)
    return path


def test_places_are_looked_for_from_the_folder_of_the_recipe(tmp_path: Path) -> None:
    text = GOOD + '[[sources]]\nkind = "feed"\nplace = "https://a.example/rss"\n'
    recipe = read_recipe(write(tmp_path, text))
    build = Build(tmp_path / "out", recipe, date(2026, 11, 15), lambda _: {}, home=tmp_path)
    assert [one.place for one in recipe.sources] == ["docs", "https://a.example/rss"]  # as it is written
    assert [build.locate(one.place) for one in recipe.sources] == [str(tmp_path / "docs"), "https://a.example/rss"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = ", "is not valid TOML"),
        ('name = "n"\ngenerator = "m/x"\nsources = []\n', "must define at least one language"),
        (GOOD.replace('generator = "m/x"\n', ""), "missing required field `generator`"),
        (GOOD + "[wantd]\nbase = 3\n", "unknown field `wantd`"),
        (GOOD + '[wanted]\nbase = "3"\n', "Expected `int`, got `str`"),
        (GOOD + "[wanted]\nbase = -3\n", "Expected `int` >= 0 - at `$.wanted.base`"),
        (GOOD + "[questions]\nsurplus = nan\n", "Expected `float` >= 1.0 - at `$.questions.surplus`"),
        (GOOD + "[questions]\nsurplus = 1e300\n", "Expected `float` <= 10000000.0"),
        (f"seed = {10**30}\n" + GOOD, "Expected `int` <= 10000000 - at `$.seed`"),
        (f"seed = {'9' * 5_000}\n" + GOOD, "is not valid TOML"),
        (
            GOOD + "[wanted]\nbase = 0\n",
            "[wanted] must contain at least one number above 0; otherwise no items are built",
        ),
        (GOOD + "[search]\nhits = 0\n", "Expected `int` >= 1 - at `$.search.hits`"),
        (GOOD + '[search]\nengine = "serpr"\n', "Did you mean 'serper'"),
        (GOOD + '[search]\nafter = "tomorrow"\n', "search.after 'tomorrow' is not a valid date"),
        (GOOD + '[search]\nbefore = "2026-11"\n', "search.before '2026-11' is not a valid date"),
        (GOOD + '[ranking]\nencoder = ""\n', "unknown encoder ''"),
        (GOOD + '[ranking.encoders]\nzh = "m3e"\n', "Did you mean 'm3e-base'"),
        (GOOD.replace("folder", "fodler"), "Did you mean 'folder'"),
        (GOOD.replace('"n"', '"a/b"'), "'a/b' is not valid"),
        (GOOD.replace('"n"', '".."'), "'..' is not valid"),
        ('since = "2026-13-01"\n' + GOOD, "'2026-13-01' is not a valid date"),
        (GOOD.replace('name = "n"', 'name = "n"\nlangs = ["fr"]'), "Invalid enum value 'fr'"),
        ('langs = ["en", "zh", "en"]\n' + GOOD, "langs contains en more than once; remove the duplicate"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said(tmp_path: Path, text: str, said: str) -> None:
    with pytest.raises(RagbedError) as caught:
        read_recipe(write(tmp_path, text))
    assert said in str(caught.value)


def test_the_shipped_recipe_asks_for_the_papers_sizes() -> None:
    recipe = read_recipe(Path(__file__).parents[2] / "recipes" / "rgb.toml")
    assert (recipe.langs, recipe.wanted) == (("en", "zh"), RecipeCounts(base=300, integration=100, counterfactual=100))
    assert (recipe.search.hits, recipe.ranking.top, recipe.ranking.tokens) == (10, 30, 300)
    assert recipe.ranking.encoders == {"en": "all-mpnet-base-v2", "zh": "m3e-base"}


def test_the_documentation_shows_every_field_of_a_recipe_with_its_default(tmp_path: Path) -> None:
    text = (Path(__file__).parents[2] / "docs" / "reference" / "build.md").read_text("utf-8")
    shown = tomllib.loads(re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1])  # type: ignore[index]
    recipe = read_recipe(write(tmp_path, re.search(r"```toml\n(.*?)```", text, re.DOTALL)[1]))  # type: ignore[index]
    bare = read_recipe(write(tmp_path, GOOD))
    assert set(shown) == set(recipe.__struct_fields__)
    for table in ("wanted", "questions", "checks", "gate", "search", "ranking", "pools"):
        part, default = getattr(recipe, table), getattr(bare, table)
        assert set(shown[table]) == set(part.__struct_fields__), table
        for field in part.__struct_fields__:
            empty = getattr(default, field) in (None, (), {})
            assert empty or getattr(part, field) == getattr(default, field), f"{table}.{field}"
