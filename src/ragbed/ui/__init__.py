"""Browser pages for viewing runs and reviewing built items, served only to this machine."""
