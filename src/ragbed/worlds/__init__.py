"""Fictional news: a seeded generator of datasets whose truth is known exactly (docs/world.md)."""
