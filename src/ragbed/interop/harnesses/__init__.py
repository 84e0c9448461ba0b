"""Adapters that other harnesses load to run ragbed's testbeds.

Like the command line, they may read the environment, and no other package of ragbed imports them.
"""
