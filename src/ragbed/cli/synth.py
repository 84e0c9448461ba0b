"""`ragbed synth`: generate a dataset of fictional news."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ragbed.cli.console import print_json, print_table
from ragbed.cli.options import Json, command

if TYPE_CHECKING:
    from ragbed.api.job_specs import SynthesisSpec


@command()
def synth(spec: SynthesisSpec, *, json: Json = False) -> None:
    """Generate a dataset of fictional news.

    No model has seen these texts, and the ground truth is known exactly. DIR receives {lang}_base.jsonl,
    {lang}_int.jsonl and {lang}_fact.jsonl, and a manifest.json with the seed, the versions and a
    checksum of each file.

    \b
    Examples:
      ragbed synth --seed 7 --items 300 -o news
      ragbed synth --items 100 --lang en --perturbations sibling,hedge -o pairs
      ragbed synth --items 1000000 --lang zh --num-docs 10 --tokens 80 --integration 0 --counterfactual 0 -o zh
    """
    from ragbed.api import datasets

    made = datasets.synthesize.start(spec)
    print_table(made.records(), to_stderr=json)
    if json:
        print_json({"folder": str(spec.out), "manifest": made.manifest})
