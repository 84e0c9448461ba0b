"""The paper's printed figures, and an assessment of the conclusions that they support."""
