"""Draw charts as SVG with pure functions: lines with confidence bands, and charts with labelled rows."""
