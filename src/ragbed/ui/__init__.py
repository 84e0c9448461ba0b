"""Pages for the browser, served to this machine only."""
