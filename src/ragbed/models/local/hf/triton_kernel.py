"""Compute attention from one new token per sequence to all of the sequence's tokens, on NVIDIA and AMD GPUs (Triton).

Memory bandwidth limits the speed, so nothing is padded: every program uses the actual length of its sequence. One
program handles all query heads that share a key head, so that keys and values are read only once. Long sequences are
split into parts, and a second kernel combines their results (FlashDecoding).
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

# Target number of kernel programs: about thirty per multiprocessor on a large GPU, so that differences in sequence
# length even out.
_PROGRAMS = 4096
_MAX_PARTS = 16
# Number of tokens per step. At a head dimension of 128, the keys and values take 32 kB per step, and two steps are in
# flight.
_BLOCK = 64
# Minimum number of rows in a matrix product; if there are fewer query heads, padding rows are added.
_MIN_ROWS = 16


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
    queries = tl.load(
        query + row * query_row + heads[:, None] * query_head + width[None, :],
        mask=is_head[:, None] & is_width[None, :], other=0.0,
    )  # fmt: skip
    base = head.to(tl.int64) * head_size + start * WIDTH
    best = tl.full([ROWS], -float("inf"), tl.float32)
    total = tl.zeros([ROWS], tl.float32)
    found = tl.zeros([ROWS, FULL_WIDTH], tl.float32)
    for at in range(first, last, BLOCK):
        slots = at + tl.arange(0, BLOCK)
        is_slot = slots < last
        there = base + slots[:, None] * WIDTH + width[None, :]
        mask = is_slot[:, None] & is_width[None, :]
        block = tl.load(keys + there, mask=mask, other=0.0)
        score = tl.dot(queries, tl.trans(block), input_precision="ieee") * scale
        score = tl.where(is_slot[None, :], score, -float("inf"))
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


def attend_spans(
    query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, starts: torch.Tensor, lengths: torch.Tensor,
    scale: float,
) -> torch.Tensor:  # fmt: skip
    """Compute attention for one token per sequence over the sequence's span of slots.

    Args:
        query: (sequences, heads, width), contiguous in the last dimension.
        keys: (key heads, slots, width), contiguous.
        values: The same shape as `keys`, contiguous.
        starts: The first slot of each sequence.
        lengths: The number of slots that each sequence uses, at least one.
        scale: The factor by which scores are multiplied.

    Returns:
        A tensor of shape (sequences, heads, width).
    """
    rows, heads, width = query.shape
    key_heads = keys.shape[0]
    group = heads // key_heads
    count = min(_MAX_PARTS, triton.next_power_of_2(max(1, _PROGRAMS // (rows * key_heads))))
    parts = query.new_empty((rows, heads, count, width), dtype=torch.float32)
    weights = query.new_empty((rows, heads, count), dtype=torch.float32)
    out = query.new_empty((rows, heads, width))
    full_width = triton.next_power_of_2(width)
    _attend_part[(rows, key_heads, count)](
        query, keys, values, parts, weights, starts, lengths, scale, query.stride(0), query.stride(1), keys.stride(0),
        GROUP=group, ROWS=max(_MIN_ROWS, triton.next_power_of_2(group)), WIDTH=width, FULL_WIDTH=full_width,
        BLOCK=_BLOCK, PARTS=count, num_warps=4, num_stages=3,
    )  # fmt: skip
    _join_parts[(rows * heads,)](parts, weights, out, WIDTH=width, FULL_WIDTH=full_width, PARTS=count, num_warps=1)
    return out
