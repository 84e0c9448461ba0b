"""Write results as tables, figures and pages.

`tables.py` arranges the cells of runs, and one function per format writes them (`formats.py`).
"""
