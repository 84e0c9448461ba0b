"""`hf/<repo or folder>`: run models from the transformers library in this process.

The library runs the layers of the model; attention, KV cache and scheduling are our own, so that prompts of different
lengths run in one batch without padding. On one H200 with a 7.6B model (512 prompts, 128 new tokens each), we measured
0.043 s per prompt, compared with 0.26 s for `generate` in batches of 128 and 0.64 s for the continuous batching in
transformers (`python -m benches gpu` measures this module). To serve a model on GPUs, use vLLM (`vllm/<model>`).

`model` implements the protocol, `weights` finds and downloads the files, `loading` loads and checks them, `prompt`
encodes cases, and `batch_engine` runs batches in a thread and samples tokens. `ragged_runner` (with `attention`,
`triton_kernel` and `kv_cache`) and `padded_runner` are two ways to run a batch.
"""
