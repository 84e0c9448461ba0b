"""What is shown in a browser: markup, charts, and under `static/` the style and scripts that pages share."""
