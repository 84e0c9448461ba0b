"""In-process transformers: `hf/<repo or folder>`.

What the library's model computes is not touched; around it stand our own attention, cache and schedule, so that many
prompts of different lengths are read and answered at once without padding. The parts, from the outside in:
`model` (what the runner asks), `source` (where weights come from), `loading` (weights and tokenizer, checked),
`prompt` (a case as tokens), `engine` (the thread that reads and writes), `ragged` and `padded` (two ways to run a
batch), `attention`, `kernel`, `store` (what the first of them stands on), `choosing` (from scores to tokens).
"""
