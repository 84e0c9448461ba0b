"""Models that are called through an HTTP API."""
