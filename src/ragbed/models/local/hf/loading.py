"""Load and check the weights and the tokenizer, and choose a runner."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

import torch
import transformers

from ragbed.errors import RagbedError
from ragbed.models.failures import Failure
from ragbed.models.local.hf import attention
from ragbed.models.local.hf.kv_cache import KVCache
from ragbed.models.local.hf.padded_runner import PaddedRunner
from ragbed.models.local.hf.ragged_runner import RaggedRunner
from ragbed.models.local.hf.sequence import Batching, Runner, Sequence
from ragbed.models.local.hf.weights import WeightSource, read_config

# Prefill reaches full speed at a few thousand tokens per batch, so any further memory is better spent on concurrent
# sequences. Above about 500 rows, decoding time grows in proportion to the number of rows.
GPU = Batching(tokens=16_384, width=512)
CPU = Batching(tokens=2_048, width=32)

# The share of free memory to use for the KV cache. The rest is for activations (3 GB to prefill 16,384 tokens with a 7B
# model), logits, graphs and a reserve; without a reserve, repeated memory allocation would halve the speed.
_GPU_SHARE = 0.7
_CPU_CACHE_BYTES = 2 << 30
# Types of position embeddings that depend on the length of the longest prompt in a batch.
_ROPE_BY_LENGTH = ("dynamic", "longrope")


@dataclass(frozen=True)
class LoadedTokenizer:
    """A tokenizer with the model's context length and the tokens that end a response."""

    tokenizer: Any
    context: int | None
    ends: frozenset[int]


def device() -> torch.device:
    """Return the GPU if there is one, otherwise the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def precision() -> torch.dtype:
    """Return the data type for the weights: bfloat16 or float16 on a GPU, float32 on a CPU."""
    if device().type == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def load_tokenizer(folder: Path, source: WeightSource) -> LoadedTokenizer:
    """Load the tokenizer and the model's limits, so that problems are reported before the weights are loaded."""
    config = _load(transformers.AutoConfig, folder, source)
    known = set(transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
    kinds = list(config.architectures or [])
    if kinds and not known.intersection(kinds) and not source.trusts_code:
        raise RagbedError(
            f"{source.name} ({kinds[0]}) is not a causal language model. Use a model whose architecture "
            "ends in ForCausalLM."
        )
    tokenizer = _load(transformers.AutoTokenizer, folder, source)
    if not tokenizer("a", add_special_tokens=False)[
        "input_ids"
    ]:  # if a model has no tokenizer files, the library creates an empty tokenizer
        raise RagbedError(f"{source.name} has no valid tokenizer. Download the model again.")
    try:  # only the EOS tokens in this config are used, because the user sets the sampling parameters
        generation = transformers.GenerationConfig.from_pretrained(folder).to_dict()
    except OSError:
        generation = {}
    ends = generation.get("eos_token_id", config.eos_token_id)
    ends = {tokenizer.eos_token_id, *(ends if isinstance(ends, list) else [ends])} - {None}
    inner = config.get_text_config()
    context = getattr(inner, "max_position_embeddings", None) or getattr(inner, "seq_length", None)
    return LoadedTokenizer(tokenizer, context, frozenset(ends))


def open_runner(folder: Path, source: WeightSource, batching: Batching) -> Runner:
    """Load the weights and choose a runner."""
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    model, report = _load(
        transformers.AutoModelForCausalLM, folder, source, dtype=precision(), output_loading_info=True,
        use_safetensors=any(folder.glob("*.safetensors")), weights_only=True,
    )  # fmt: skip
    missing = sorted(report["missing_keys"])
    if missing:
        raise RagbedError(
            f"{source.name}: {len(missing)} weights are missing, e.g. {missing[0]}. Download the model again."
        )
    try:
        return choose_runner(model.to(device()).eval(), batching)
    except torch.OutOfMemoryError:
        raise RagbedError(
            f"{source.name} does not fit in GPU memory. Use a smaller model, or run it on an inference server."
        ) from None


def choose_runner(model: Any, batching: Batching) -> Runner:
    """Return an unpadded runner if our attention function reproduces the library's logits, otherwise a padded one."""
    if _may_be_ragged(model):
        cache = _try_ragged(model)
        if cache is not None:
            return RaggedRunner(
                model,
                cache.enlarged(
                    (
                        int(_GPU_SHARE * torch.cuda.mem_get_info(model.device)[0])
                        if model.device.type == "cuda"
                        else _CPU_CACHE_BYTES
                    )
                    // cache.bytes_per_slot
                ),
                batching,
            )
        model.set_attn_implementation("sdpa")  # restore the attention implementation that the trial replaced
    return PaddedRunner(model, batching)


def _may_be_ragged(model: Any) -> bool:
    config = model.config.get_text_config()
    kinds = set(getattr(config, "layer_types", None) or ["full_attention"])
    rope = getattr(config, "rope_parameters", None) or {}
    return (
        getattr(model, "_supports_attention_backend", False)
        and "logits_to_keep" in inspect.signature(model.forward).parameters
        and kinds == {"full_attention"}
        and rope.get("rope_type") not in _ROPE_BY_LENGTH
    )


def _try_ragged(model: Any) -> KVCache | None:
    """Prefill two prompts together, decode one token for each, and compare the logits with the library's.

    This detects any model feature that our attention does not support. Return the trial's cache, or None on failure.
    """
    vocabulary = model.config.get_text_config().vocab_size
    prompts = [[(7 * at + 3) % vocabulary for at in range(length)] for length in (9, 5)]
    next_token = vocabulary // 2
    model.set_attn_implementation("sdpa")
    with torch.inference_mode():
        expected = [
            model(input_ids=torch.tensor([[*prompt, next_token]], device=model.device)).logits[0, -2:]
            for prompt in prompts
        ]
        attention.register()
        try:
            model.set_attn_implementation(attention.NAME)
            cache = KVCache(64)
            trial = RaggedRunner(model, cache, Batching(tokens=64, width=2))
            sequences = [Sequence(prompt, 4, Random()) for prompt in prompts]
            read = trial.read(trial.admit(sequences, 0))
            for sequence in sequences:
                sequence.written.append(next_token)
            found = torch.stack([read, trial.write(sequences)], 1)
        except (NotImplementedError, TypeError, KeyError, AttributeError, ValueError, Failure):
            return None
    return cache if _agree(torch.stack(expected), found) else None


def _agree(expected: torch.Tensor, found: torch.Tensor) -> bool:
    # The logits may differ slightly, because floating-point sums depend on the order of summation.
    allowed = 1e-3 if expected.dtype == torch.float32 else 5e-2
    return bool((expected - found).abs().max() <= allowed * expected.abs().max().clamp(min=1e-3))


def _load(kind: Any, folder: Path, source: WeightSource, **options: Any) -> Any:
    try:
        return kind.from_pretrained(folder, trust_remote_code=source.trusts_code, local_files_only=True, **options)
    except Exception as error:  # the library raises many exception types for corrupt files and unknown architectures
        brief = " ".join(str(error).split())[:240]
        architecture = read_config(folder).get("model_type", "unknown")
        raise RagbedError(
            f"{source.name} (architecture {architecture}) cannot be loaded by transformers {transformers.__version__}: "
            f"{brief}. If the architecture is newer than this version, run `pip install -U transformers`. "
            "Otherwise, use a server: -m openai-api/<name>/<model>."
        ) from error
