"""Adapters that other harnesses load to run ragbed's testbeds.

Like the command line, they may read the environment; no other ragbed package imports them.
"""
