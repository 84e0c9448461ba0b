"""The Python API, which the command line uses too. Import its names from `ragbed`: they are loaded when first used."""
