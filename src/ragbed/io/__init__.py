"""File formats and downloads."""
