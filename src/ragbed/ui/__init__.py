"""Web pages for viewing runs and reviewing dataset items, served on localhost only."""
