"""Exports, adapters of other harnesses, and the pytest plug-in."""
