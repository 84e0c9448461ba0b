"""Fictional news: a seeded generator of datasets whose truth is known exactly (docs/world.md)."""

from ragbed.worlds.dials import DIALS
from ragbed.worlds.generate import World, make_items, write_world
from ragbed.worlds.recipe import Recipe

__all__ = ["DIALS", "Recipe", "World", "make_items", "write_world"]
