"""What the page calls the values of parameters that are chosen from a few words; files and flags have the words."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.parameters import Spec

_SHARED = {"shared": "Shared", "separate": "Separate"}
_PARTS = {"test": "Test images", "train": "Training images"}

TITLES = MappingProxyType(
    {
        "channels_last": {"auto": "Auto", "on": "On", "off": "Off"},
        "contrast_mode": {"all": "All views", "one": "First view of each image"},
        "distance": {"cosine": "Cosine", "euclidean": "Euclidean"},
        "form": {"code": "As in the code", "paper": "As in the paper"},
        "held_out": {"classes": "Classes", "images": "Images of the same classes"},
        "loss": {"clip": "CLIP", "siglip": "SigLIP", "triplet": "Triplet (VSE++)"},
        "mean_over": {"active": "Active pairs (as trained)", "all": "All pairs (as printed)"},
        "negatives": {"similarity": "Its similarity (the code)", "hinge": "Similarity less the margin"},
        "norm": {
            "batch": "Whole batch",
            "split": "Parts of the batch",
            "group": "Groups of channels",
            "layer": "Layer",
        },
        "of": {"classes": "Classes", "files": "Files"},
        "optimiser": {"adamw": "AdamW", "adam": "Adam", "sgd": "SGD", "lars": "LARS", "rmsprop": "RMSprop"},
        "originals": {"all": "All", "matched": "As many as without an object", "none": "None"},
        "part": _PARTS,
        "policy": {"imagenet": "ImageNet", "cifar10": "CIFAR-10", "svhn": "SVHN"},
        "head": {"residual": "Residual", "linear": "Linear", "mlp": "Two layers"},
        "pooling": {
            "published": "As published",
            "average": "Average",
            "gem": "Generalised mean (GeM)",
            "cls": "Class token",
        },
        "positives": {"out": "Outside the logarithm", "in": "Inside the logarithm"},
        "precision": {"auto": "Auto", "float32": "float32", "bf16": "bfloat16", "fp16": "float16"},
        "preset": {
            "paper": "Paper: continuous",
            "sop": "Published tables of SOP",
            "inat": "Published tables of iNaturalist",
            "custom": "Custom",
        },
        "probe_of": _PARTS,
        "projection": {"random": "Random weights", "pca": "Principal components"},
        "reduce_levels": {"sum": "Sum", "mean": "Mean"},
        "schedule": {"cosine": "Half cosine", "step": "A tenth after each drop", "constant": "Constant"},
        "searched": {"all": "Learning rate and own parameters", "rate": "Learning rate"},
        "sharing": {**_SHARED, "partly": "All but the head's shared"},
        "terms": {
            "table_ii_proxies": "Table II, proxies",
            "table_ii_pairs": "Table II, pairs",
            "code_proxies": "Published code, proxies",
            "code_pairs": "Published code, pairs",
            "tables_i_iii_proxies": "Tables I and III, proxies",
            "neurips_2021_pairs": "NeurIPS 2021, pairs",
            "neurips_2021_code_pairs": "Code of NeurIPS 2021, pairs",
        },
        "track": {"none": "None", "tensorboard": "TensorBoard", "trackio": "Trackio", "wandb": "Weights & Biases"},
        "text": {
            "phrases": "Own, without the object's phrase",
            "prompts": "One of 80 prompts",
            "captioner": "Captioner's",
        },
        "total": {
            "paper": "As in the paper",
            "official_256": "As in the code for 256 pixels",
            "official_224": "As in the code for 224 pixels",
        },
        "triplets": {"all": "All", "semihard": "Semi-hard", "hard": "Hardest"},
    }
)
"""Titles by the parameter's name and the value."""


def titled_choices(spec: Spec) -> list[tuple[Any, str]]:
    """List the values that a parameter is chosen from, each with its title; one without a title is written as it is."""
    titles = TITLES.get(spec.name, {})
    return [(value, titles.get(value, str(value))) for value in spec.rule.choices or ()]
