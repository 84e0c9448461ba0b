"""Generate fictional news with known facts, for datasets that no model has seen in training.

See docs/explanation/synthetic-data.md.
"""

from ragbed.synth.generate import SynthManifest, make_items, write_dataset
from ragbed.synth.perturbations import PERTURBATIONS
from ragbed.synth.spec import SynthSpec

__all__ = ["PERTURBATIONS", "SynthManifest", "SynthSpec", "make_items", "write_dataset"]
