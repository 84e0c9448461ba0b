"""Retrieval as a tool: the model gets the question and a search tool, and decides what it reads and when it stops.

`testbed.py` makes the cases, `corpora.py` selects the passages of each condition, `protocol.py` parses calls of the
tool, and `episode.py` is the state machine of a case's turns. The limits are in `settings.py`.
"""
