"""The Python API, on which the command line is built. Import from `ragbed`, which loads each name on first use."""
