"""Statistics: pure functions from counts and numbers to intervals, tests and plans; one file per family.

Rates are fractions between 0 and 1, intervals have a level of 95 % unless told otherwise, and what draws random
numbers takes a seed. docs/statistics.md has the definitions.
"""
