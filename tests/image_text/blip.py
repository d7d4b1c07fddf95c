"""A random BLIP of a few thousand weights in a folder, as transformers writes it."""

from __future__ import annotations

from pathlib import Path

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = [*SPECIAL, "a", "dog", "cat", "two", "on", "mat", "red", "frisbee", "the", "with", "and", "snow"]
START = len(WORDS)  # of a written sentence; as in the published models the tokeniser does not know it


def write_blip(folder: Path, kind: str) -> Path:
    """Save a random model of the class ``kind`` with its tokeniser and image processor."""
    import torch
    import transformers

    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {
        "vocab_size": START + 2,
        "max_position_embeddings": 64,
        "bos_token_id": START,
        "eos_token_id": 3,
        "sep_token_id": 3,
        "pad_token_id": 0,
    }
    config = transformers.BlipConfig(
        text_config={**sizes, **text},
        vision_config={**sizes, "image_size": 32, "patch_size": 8, "initializer_range": 0.5},
        image_text_hidden_size=8,
        initializer_range=0.5,
    )
    torch.manual_seed(1)
    getattr(transformers, kind)(config).save_pretrained(folder)
    tokeniser = transformers.BertTokenizer(vocab={word: index for index, word in enumerate(WORDS)})
    seen = transformers.BlipImageProcessor(
        size={"height": 32, "width": 32}, image_mean=[0.4, 0.5, 0.6], image_std=[0.2, 0.3, 0.4]
    )
    transformers.BlipProcessor(seen, tokeniser).save_pretrained(folder)
    return folder
