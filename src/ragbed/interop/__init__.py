"""Exports to other tools, adapters for other harnesses, and the pytest plug-in."""
