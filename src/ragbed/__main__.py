"""`python -m ragbed` is `ragbed`."""

from ragbed.cli import main

main()
