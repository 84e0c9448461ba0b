"""Write results as tables, figures and pages.

`tables.py` arranges the cells of runs in tables, and `formats.py` has one function per output format.
"""
