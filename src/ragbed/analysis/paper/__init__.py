"""The numbers printed in the paper, and an analysis of the conclusions that they support."""
