"""Fictional news: a seeded generator of datasets whose truth is known exactly (docs/synth.md)."""

from ragbed.synth.generate import World, make_items, write_world
from ragbed.synth.perturbations import DIALS
from ragbed.synth.spec import SynthSpec

__all__ = ["DIALS", "SynthSpec", "World", "make_items", "write_world"]
