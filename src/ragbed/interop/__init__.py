"""Exports, adapters for other harnesses, and the pytest plug-in."""
