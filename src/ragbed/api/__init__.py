"""The Python API underlying the command line. Import names from `ragbed`, which loads each name on first use."""
