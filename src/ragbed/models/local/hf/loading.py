"""Weights and tokenizer, loaded and checked; and the way to run them that fits."""

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
from ragbed.models.local.hf.runner import Batching, Runner
from ragbed.models.local.hf.sequence import Sequence
from ragbed.models.local.hf.weights import WeightSource, read_config

GPU = Batching(tokens=16_384, width=512)
"""Reading: matrix products are at full speed from a few thousand tokens on, and memory for more is better kept for
sequences. Writing: past some 500 rows a step's time grows with the rows, so that more gain nothing."""
CPU = Batching(tokens=2_048, width=32)

_GPU_SHARE = 0.7
"""Of the memory that weights leave, for keys and values. The rest is for the work: 3 GB to read 16,384 tokens of a 7B
model, scores, graphs, and room to spare, since taking memory from the GPU and giving it back halves the speed."""
_CPU_STORE = 2 << 30
_ROPE_BY_LENGTH = ("dynamic", "longrope")
"""Ways to turn positions that look at the longest of a batch, so that prompts would disturb each other."""


@dataclass(frozen=True)
class LoadedTokenizer:
    """What reads and writes text: the tokenizer, and what the model says of its limits."""

    tokenizer: Any
    context: int | None
    """Tokens that it can take in all."""
    ends: frozenset[int]
    """Tokens that end a reply."""


def device() -> torch.device:
    """A GPU where there is one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def precision() -> torch.dtype:
    """What weights are loaded as: bfloat16 on a GPU that has it, float32 on a CPU, where halves are slow."""
    if device().type == "cpu":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def load_text(folder: Path, source: WeightSource) -> LoadedTokenizer:
    """The tokenizer and the limits: quick, so that what cannot work is said before weights are loaded."""
    config = _load_config(folder, source)
    tokenizer = _load(transformers.AutoTokenizer, folder, source)
    if not tokenizer("a", add_special_tokens=False)["input_ids"]:  # without files the library makes an empty one
        raise RagbedError(f"{source.name} has no tokenizer that can be read; bring the model again.")
    generation = _read_generation(folder)
    named = generation.get("eos_token_id", config.eos_token_id)
    ends = {tokenizer.eos_token_id, *(named if isinstance(named, list) else [named])} - {None}
    inner = config.get_text_config()
    context = getattr(inner, "max_position_embeddings", None) or getattr(inner, "seq_length", None)
    return LoadedTokenizer(tokenizer, context, frozenset(ends))


def open_runner(folder: Path, source: WeightSource, batching: Batching) -> Runner:
    """Loads the weights and finds the way to run them."""
    where = device()
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    model, report = _load(
        transformers.AutoModelForCausalLM, folder, source, dtype=precision(), output_loading_info=True,
        use_safetensors=any(folder.glob("*.safetensors")), weights_only=True,
    )  # fmt: skip
    missing = sorted(report["missing_keys"])
    if missing:
        raise RagbedError(f"{source.name} lacks weights ({missing[0]}, {len(missing)} in all); bring the model again.")
    try:
        return choose_runner(model.to(where).eval(), batching)
    except torch.OutOfMemoryError:
        raise RagbedError(
            f"{source.name} does not fit into the GPU's memory; take a smaller one, or serve it."
        ) from None


def choose_runner(model: Any, batching: Batching) -> Runner:
    """Without padding where the model's attention can be replaced and a trial shows the same scores."""
    if _may_be_ragged(model):
        store = _try_ragged(model)
        if store is not None:
            return RaggedRunner(model, store.enlarged(_places(store.bytes_per_place, model.device)), batching)
        model.set_attn_implementation("sdpa")  # the trial has left ours behind
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
    """What was kept in a trial; None if it fails.

    Two prompts are read together and one token is written to each, and the library's own scores must come out: whatever
    an architecture does that ours does not know shows here.
    """
    vocabulary = model.config.get_text_config().vocab_size
    prompts = [[(7 * at + 3) % vocabulary for at in range(length)] for length in (9, 5)]
    next_token = vocabulary // 2
    model.set_attn_implementation("sdpa")
    with torch.inference_mode():
        wanted = [
            model(input_ids=torch.tensor([[*prompt, next_token]], device=model.device)).logits[0, -2:]
            for prompt in prompts
        ]
        attention.register()
        try:
            model.set_attn_implementation(attention.NAME)
            store = KVCache(64)
            trial = RaggedRunner(model, store, Batching(tokens=64, width=2))
            sequences = [Sequence(prompt, 4, Random()) for prompt in prompts]
            read = trial.read(trial.admit(sequences, 0))
            for sequence in sequences:
                sequence.written.append(next_token)
            found = torch.stack([read, trial.write(sequences)], 1)
        except (NotImplementedError, TypeError, KeyError, AttributeError, ValueError, Failure):
            return None
    return store if _agree(torch.stack(wanted), found) else None


def _agree(wanted: torch.Tensor, found: torch.Tensor) -> bool:
    """Within what numbers of this precision can tell: the order of sums differs."""
    allowed = 1e-3 if wanted.dtype == torch.float32 else 5e-2
    return bool((wanted - found).abs().max() <= allowed * wanted.abs().max().clamp(min=1e-3))


def _places(bytes_per_token: int, where: torch.device) -> int:
    memory = _CPU_STORE
    if where.type == "cuda":
        free, _ = torch.cuda.mem_get_info(where)
        memory = int(_GPU_SHARE * free)
    return memory // bytes_per_token


def _load_config(folder: Path, source: WeightSource) -> Any:
    config = _load(transformers.AutoConfig, folder, source)
    known = set(transformers.models.auto.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values())
    kinds = list(config.architectures or [])
    if kinds and not known.intersection(kinds) and not source.trusts_code:
        raise RagbedError(
            f"{source.name} is no model that writes text ({kinds[0]}); name one that ends in ForCausalLM."
        )
    return config


def _read_generation(folder: Path) -> dict[str, Any]:
    """Only where a reply ends is taken from it: how to draw is the user's to say."""
    try:
        return dict(transformers.GenerationConfig.from_pretrained(folder).to_dict())
    except OSError:
        return {}


def _load(kind: Any, folder: Path, source: WeightSource, **options: Any) -> Any:
    """Loads from a folder and from nowhere else, and says in our words what the library cannot do."""
    version = transformers.__version__
    try:
        return kind.from_pretrained(folder, trust_remote_code=source.trusts_code, local_files_only=True, **options)
    except Exception as error:  # files are damaged and architectures unknown in more ways than could be listed
        brief = " ".join(str(error).split())[:240]
        named = read_config(folder).get("model_type", "unknown")
        raise RagbedError(
            f"{source.name} (architecture {named}) cannot be loaded by transformers {version}: {brief}. "
            "If the architecture is newer: pip install -U transformers; else serve it: -m openai-api/<name>/<model>."
        ) from error
