"""What other harnesses load when they ask ragbed's testbeds: each file is called by one of them.

They stand at the edge, as the command line does: they read the environment, and nothing of ours imports them.
"""
