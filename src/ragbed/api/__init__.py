"""The Python API, on which the command line is built. Import names from `ragbed`, which loads each one on first use."""
