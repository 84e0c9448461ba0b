"""Retrieval as a tool: the model gets a question and a search tool, and decides what to search for and when to stop.

`testbed.py` generates the cases, `corpora.py` selects the passages for each condition, `protocol.py` parses tool calls,
and `episode.py` is the state machine for the turns of a case. The limits are in `settings.py`.
"""
