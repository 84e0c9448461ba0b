"""A test bed for language models that are handed retrieved documents.

import ragbed

run = ragbed.run(model="scripted/oracle", data="ragbed-mini-en_base", limit=20)
run.table("noise")
"""

# Type checkers take it for true. Nothing is imported here: `typing` would load a dozen modules before a command starts,
# and `python -m ragbed` still has the current folder on its path.
TYPE_CHECKING = False

if TYPE_CHECKING:
    from ragbed.api import Options, Run, Table, open_run, run
    from ragbed.errors import RagbedError, UsageError
else:

    def __getattr__(name: str) -> object:
        """The public names, brought when they are first used, so that `import ragbed` takes no time."""
        if name not in __all__:
            raise AttributeError(f"module 'ragbed' has no attribute {name!r}")
        from ragbed import api  # noqa: PLC0415

        return getattr(api, name)


__all__ = ["Options", "RagbedError", "Run", "Table", "UsageError", "open_run", "run"]
__version__ = "0.1.0.dev0"
