"""Make small models with random weights of the relevant architectures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    GlmConfig,
    LlamaConfig,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen3Config,
)

TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
SIGNS = ["<|im_start|>", "<|im_end|>", "<|endoftext|>", "</s>"]
_SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
_GROUPED = _SIZES | {"num_key_value_heads": 2, "max_position_embeddings": 2048}
_CONFIGS: dict[str, Any] = {
    "llama": lambda **sizes: LlamaConfig(**_GROUPED, **sizes),
    "qwen2": lambda **sizes: Qwen2Config(**(_GROUPED | sizes)),
    "qwen3": lambda **sizes: Qwen3Config(**_GROUPED, head_dim=8, **sizes),
    "glm": lambda **sizes: GlmConfig(**_GROUPED, head_dim=8, pad_token_id=0, **sizes),
    "bloom": lambda **sizes: BloomConfig(hidden_size=32, n_layer=2, n_head=4, **sizes),
    "gemma2": lambda **sizes: Gemma2Config(**_GROUPED, head_dim=8, **sizes),
}
ARCHITECTURES = tuple(_CONFIGS)


def make_tokenizer(template: str | None = TEMPLATE) -> PreTrainedTokenizerFast:
    """Return a tokenizer with one token per byte and some control tokens."""
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE({letter: at for at, letter in enumerate(letters)}, []))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=inner, eos_token="<|im_end|>")
    tokenizer.add_special_tokens({"additional_special_tokens": SIGNS})
    tokenizer.chat_template = template
    return tokenizer


def make_network(architecture: str, seed: int = 0, **settings: Any) -> Any:
    """Return a network with random weights, large enough for different responses."""
    torch.manual_seed(seed)
    config = _CONFIGS[architecture](vocab_size=260, bos_token_id=None, eos_token_id=257, **settings)
    network = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    with torch.no_grad():
        for weights in network.parameters():
            if weights.dim() > 1:
                weights.normal_(0, 0.3)
    return network


def save_model(folder: Path, architecture: str = "qwen2", template: str | None = TEMPLATE, **settings: Any) -> Path:
    """Save weights, configuration and tokenizer in a folder."""
    make_network(architecture, **settings).save_pretrained(folder)
    make_tokenizer(template).save_pretrained(folder)
    return folder
