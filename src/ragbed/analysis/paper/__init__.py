"""The paper's printed figures, and findings about what they support."""
