"""Runs: call models once per case, store every response, and resume."""
