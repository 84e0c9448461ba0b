"""Access the web. All network traffic for pages passes through this package."""
