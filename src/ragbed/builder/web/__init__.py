"""Access the web; all network traffic for pages passes through this package."""
