"""Test the attention kernel on the CPU with Triton's interpreter."""

from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import torch
from torch.nn.functional import scaled_dot_product_attention as attend
from ragbed.models.local.hf.triton_kernel import attend_spans

torch.manual_seed(0)
lengths = [1, 63, 64, 65, 200]
starts = [1 + sum(lengths[:at]) + 3 * at for at in range(len(lengths))]
for heads, key_heads, width in ((6, 2, 16), (2, 2, 24)):
    keys, values = torch.randn(2, key_heads, 420, width)
    query = torch.randn(len(lengths), heads, width)
    found = attend_spans(query, keys, values, torch.tensor(starts), torch.tensor(lengths), width**-0.5)
    for row, (start, length) in enumerate(zip(starts, lengths)):
        stretch = slice(start, start + length)
        wanted = attend(query[row, :, None], keys[:, stretch], values[:, stretch], enable_gqa=True)[:, 0]
        assert (found[row] - wanted).norm() < 1e-5 * wanted.norm(), (heads, width, length)
print("same")
"""


def test_the_kernel_computes_what_the_library_does() -> None:
    # In a separate process: the interpreter is chosen when Triton is imported.
    environ = os.environ | {"TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environ, capture_output=True, text=True, check=False)
    assert done.stdout == "same\n", done.stderr
