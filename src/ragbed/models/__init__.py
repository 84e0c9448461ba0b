"""Talking to language models, and the baselines that need none."""
