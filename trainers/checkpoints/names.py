"""Names that other libraries give to the tensors of a network, as the names of timm or of those whom timm converts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

_TORCHVISION = (
    (r"conv_proj\.", "patch_embed.proj."),
    (r"class_token$", "cls_token"),
    (r"encoder\.pos_embedding$", "pos_embed"),
    (r"encoder\.ln\.", "norm."),
    (r"encoder\.layers\.encoder_layer_(\d+)\.", r"blocks.\1."),
    (r"ln_([12])\.", r"norm\1."),
    (r"self_attention\.in_proj_", "attn.qkv."),
    (r"self_attention\.out_proj\.", "attn.proj."),
    (r"mlp\.(?:0|linear_1)\.", "mlp.fc1."),
    (r"mlp\.(?:3|linear_2)\.", "mlp.fc2."),
)
"""Of torchvision's vision transformer, and timm's."""
_BLOCK = (
    (r"layernorm_before\.", "norm1."),
    (r"layernorm_after\.", "norm2."),
    (r"attention\.(?:attention|self)\.(query|key|value)\.", r"attn.\1."),
    (r"attention\.self\.(relative_position)", r"attn.\1"),
    (r"attention\.output\.dense\.", "attn.proj."),
    (r"intermediate\.dense\.", "mlp.fc1."),
    (r"output\.dense\.", "mlp.fc2."),
    (r"layer_scale([12])\.lambda1$", r"ls\1.gamma"),
    (r"mlp\.weights_in\.", "mlp.w12."),
    (r"mlp\.weights_out\.", "mlp.w3."),
)
_TRANSFORMERS = (
    (r"embedder\.embedder\.convolution\.", "conv1."),
    (r"embedder\.embedder\.normalization\.", "bn1."),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.(\d+)\.convolution\.", r"layer{1+}.\2.conv{3+}."),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.layer\.(\d+)\.normalization\.", r"layer{1+}.\2.bn{3+}."),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.shortcut\.convolution\.", r"layer{1+}.\2.downsample.0."),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.shortcut\.normalization\.", r"layer{1+}.\2.downsample.1."),
    (r"embeddings\.patch_embeddings\.projection\.", "patch_embed.proj."),
    (r"embeddings\.patch_embeddings\.(weight|bias)$", r"downsample_layers.0.0.\1"),
    (r"embeddings\.layernorm\.", "downsample_layers.0.1."),
    (r"encoder\.stages\.(\d+)\.downsampling_layer\.", r"downsample_layers.\1."),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.layer_scale_parameter$", r"stages.\1.\2.gamma"),
    (r"encoder\.stages\.(\d+)\.layers\.(\d+)\.(?=dwconv|pwconv|layernorm)", r"stages.\1.\2."),
    (r"embeddings\.norm\.", "patch_embed.norm."),
    (r"embeddings\.(cls_token|mask_token|register_tokens)$", r"\1"),
    (r"embeddings\.distillation_token$", "dist_token"),
    (r"embeddings\.position_embeddings$", "pos_embed"),
    (r"encoder\.layers\.(\d+)\.downsample\.", r"layers.{1+}.downsample."),
    (r"encoder\.layers\.(\d+)\.blocks\.", r"layers.\1.blocks."),
    (r"encoder\.layer\.(\d+)\.", r"blocks.\1."),
    (r"layernorm\.", "norm."),
    *_BLOCK,
)
"""Of transformers' ResNet, ViT, DeiT, DINOv2, Swin and ConvNeXt, and timm's, or those that timm converts."""
_WAYS = {"names of torchvision": _TORCHVISION, "names of transformers": _TRANSFORMERS}
_THIRDS = ("query", "key", "value")
_THIRD = re.compile(rf"(.*(?:^|\.)attn\.)(?:{'|'.join(_THIRDS)})\.(weight|bias)")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """Tensors by one way to read their names.

    Attributes:
        names: in the file, of each tensor; several where they were joined.
        words: what the way is called; empty: as they stand.
    """

    tensors: Mapping[str, Tensor]
    names: Mapping[str, tuple[str, ...]]
    words: str = ""


def readings(given: Mapping[str, Tensor]) -> Iterator[Reading]:
    """Yield a dictionary of tensors with its own names, and with those of timm where it has another library's."""
    yield Reading(tensors=given, names={name: (name,) for name in given})
    for words, table in _WAYS.items():
        new = {name: _renamed(name, table) for name in given}
        if any(name != renamed for name, renamed in new.items()):
            yield _joined(given, new, words)


def _renamed(name: str, table: Sequence[tuple[str, str]]) -> str:
    for theirs, ours in table:
        name = re.sub(rf"(?:^|(?<=\.)){theirs}", partial(_filled, ours=ours), name)
    return name


def _filled(found: re.Match[str], ours: str) -> str:
    """Fill in a name; ``{1+}`` is the number of the first group, counted from 1."""
    return found.expand(re.sub(r"\{(\d)\+\}", lambda group: str(int(found[int(group[1])]) + 1), ours))


def _joined(given: Mapping[str, Tensor], new: Mapping[str, str], words: str) -> Reading:
    """Put query, key and value, which timm has in one, in this order."""
    groups: dict[str, list[str]] = {}
    for name, renamed in new.items():
        third = _THIRD.fullmatch(renamed)
        groups.setdefault(f"{third[1]}qkv.{third[2]}" if third else renamed, []).append(name)
    tensors: dict[str, Tensor] = {}
    for renamed, names in groups.items():
        if len(names) > 1:
            names.sort(key=lambda name: next((n for n, third in enumerate(_THIRDS) if f".{third}." in name), 0))
        same = len({(given[name].shape[1:], given[name].dtype) for name in names}) == 1 and given[names[0]].dim()
        tensors[renamed] = torch.cat([given[name] for name in names]) if len(names) > 1 and same else given[names[0]]
    return Reading(tensors=tensors, names={new: tuple(names) for new, names in groups.items()}, words=words)
