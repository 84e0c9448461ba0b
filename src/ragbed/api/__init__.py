"""The Python API, which the command line is built on. Import its names from `ragbed`; they are loaded on first use."""
