"""A test bed for language models that are handed retrieved documents."""

__version__ = "0.1.0.dev0"
