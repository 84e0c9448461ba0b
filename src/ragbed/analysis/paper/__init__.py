"""The paper's printed figures, and what they do and do not support."""
