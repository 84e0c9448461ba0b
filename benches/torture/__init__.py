"""Slow tests: random kills, faults, damage and attacks. See `__main__.py`."""
