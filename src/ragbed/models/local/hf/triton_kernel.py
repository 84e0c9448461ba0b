"""Attention of one new token a sequence over all that it has read, on NVIDIA and AMD GPUs (Triton).

What has to be read from memory decides its speed, so nothing is padded: every program follows the real length of its
sequence. All query heads that share a head of keys are done by one program, so that keys and values are read once. Long
sequences are cut into parts, and the second kernel puts their results together (FlashDecoding).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

_PROGRAMS = 4096
"""Aimed at: thirty for each of a large GPU's processors, so that sequences of different length even out."""
_MOST_PARTS = 16
_BLOCK = 64
"""Tokens at a time; 32 kB of keys and values at a width of 128, two of which are on their way at once."""
_LEAST_ROWS = 16
"""The smallest matrix product has so many rows; query heads that are fewer are filled up."""


@triton.jit
def _attend_part(
    query, keys, values, parts, weights, starts, lengths, scale, query_row, query_head, head_size,
    GROUP: tl.constexpr, ROWS: tl.constexpr, WIDTH: tl.constexpr, FULL_WIDTH: tl.constexpr,
    BLOCK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    row, head, part = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    start, length = tl.load(starts + row).to(tl.int64), tl.load(lengths + row)
    size = tl.cdiv(tl.cdiv(length, PARTS), BLOCK) * BLOCK
    first = part * size
    last = tl.minimum(first + size, length)
    group, width = tl.arange(0, ROWS), tl.arange(0, FULL_WIDTH)
    is_head, is_width = group < GROUP, width < WIDTH
    heads = head * GROUP + group
    asked = tl.load(
        query + row * query_row + heads[:, None] * query_head + width[None, :],
        mask=is_head[:, None] & is_width[None, :], other=0.0,
    )  # fmt: skip
    base = head.to(tl.int64) * head_size + start * WIDTH
    best = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    found = tl.zeros([ROWS, FULL_WIDTH], tl.float32)
    for at in range(first, last, BLOCK):
        places = at + tl.arange(0, BLOCK)
        is_place = places < last
        there = base + places[:, None] * WIDTH + width[None, :]
        mask = is_place[:, None] & is_width[None, :]
        block = tl.load(keys + there, mask=mask, other=0.0)
        score = tl.dot(asked, tl.trans(block), input_precision="ieee") * scale
        score = tl.where(is_place[None, :], score, -float("inf"))
        better = tl.maximum(best, tl.max(score, 1))
        share = tl.exp(score - better[:, None])
        fade = tl.exp(best - better)
        block = tl.load(values + there, mask=mask, other=0.0)
        found = found * fade[:, None] + tl.dot(share.to(block.dtype), block, input_precision="ieee")
        total = total * fade + tl.sum(share, 1)
        best = better
    empty = total == 0
    count = GROUP * tl.num_programs(1)
    out = (row * count + heads) * PARTS + part
    total = tl.where(empty, 1.0, total)
    found = found / total[:, None]
    tl.store(parts + out[:, None] * WIDTH + width[None, :], found, mask=is_head[:, None] & is_width[None, :])
    tl.store(weights + out, tl.where(empty, -float("inf"), best + tl.log(total)), mask=is_head)


@triton.jit
def _join_parts(
    parts, weights, out, WIDTH: tl.constexpr, FULL_WIDTH: tl.constexpr, PARTS: tl.constexpr
):  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    part, width = tl.arange(0, PARTS), tl.arange(0, FULL_WIDTH)
    weight = tl.load(weights + row * PARTS + part)
    weight = tl.exp(weight - tl.max(weight, 0))
    found = tl.load(
        parts + (row * PARTS + part)[:, None] * WIDTH + width[None, :], mask=(width < WIDTH)[None, :], other=0.0
    )
    joined = tl.sum(found * weight[:, None], 0) / tl.sum(weight, 0)
    tl.store(out + row * WIDTH + width, joined.to(out.dtype.element_ty), mask=width < WIDTH)


def attend_stretches(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, starts: torch.Tensor, lengths: torch.Tensor,
    scale: float,
) -> torch.Tensor:  # fmt: skip
    """Attends from one token a sequence to its stretch.

    Args:
        query: (sequences, heads, width), the last contiguous.
        keys: (key heads, places, width), contiguous.
        values: Likewise.
        starts: Where each sequence's stretch begins.
        lengths: How many of its places are in use; at least one.
        scale: Of the scores.

    Returns:
        (sequences, heads, width).
    """
    rows, heads, width = query.shape
    key_heads = keys.shape[0]
    group = heads // key_heads
    count = min(_MOST_PARTS, triton.next_power_of_2(max(1, _PROGRAMS // (rows * key_heads))))
    parts = query.new_empty((rows, heads, count, width), dtype=torch.float32)
    weights = query.new_empty((rows, heads, count), dtype=torch.float32)
    out = query.new_empty((rows, heads, width))
    full_width = triton.next_power_of_2(width)
    _attend_part[(rows, key_heads, count)](
        query, keys, values, parts, weights, starts, lengths, scale, query.stride(0), query.stride(1), keys.stride(0),
        GROUP=group, ROWS=max(_LEAST_ROWS, triton.next_power_of_2(group)), WIDTH=width, FULL_WIDTH=full_width,
        BLOCK=_BLOCK, PARTS=count, num_warps=4, num_stages=3,
    )  # fmt: skip
    _join_parts[(rows * heads,)](parts, weights, out, WIDTH=width, FULL_WIDTH=full_width, PARTS=count, num_warps=1)
    return out
