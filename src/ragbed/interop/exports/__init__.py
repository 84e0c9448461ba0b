"""Formats of other tools."""
