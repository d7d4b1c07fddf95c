"""The recipes of fine-tuning: originals D, object-removed pairs D', or both (Kim et al. 2023, 3.3 and table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trainers.kinds.arm_view import numbered
from trainers.kinds.base import Preset
from trainers.object_removal.blip import WEIGHTS as BLIP
from trainers.parameters import make, parameter

ORIGINALS = ("all", "matched", "none")
TEXTS = ("phrases", "prompts", "captioner")


@dataclass(frozen=True, kw_only=True)
class PairRecipe:
    """The training pairs of one arm. Without originals and without removed pairs nothing is left to train on."""

    originals: str = parameter(
        "all", choices=ORIGINALS, help="Original images: all, as many as there are object-removed ones, or none."
    )
    removed: bool = parameter(True, help="Also train on object-removed images.")
    text: str = parameter(
        "phrases",
        choices=TEXTS,
        help="Their captions: the image's own without the object's noun phrase, one of 80 prompts, or a captioner's.",
    )
    fill: str = parameter("telea", help="What is painted over the object.")
    ratio: float | None = parameter(
        0.08,
        low=0.01,
        high=1.0,
        help="Object-removed pairs of an image and a caption per original pair, |D′| / |D|; empty takes all there are.",
    )
    captions_each: int = parameter(
        1, low=1, high=5, help="Most captions of an object-removed image; each of them makes a pair."
    )
    only_edited: bool = parameter(
        False,
        help="Only captions from which a phrase was deleted (our reading); otherwise they merely come first.",
    )
    captioner: str = parameter("", help="Folder or Hub id of a BLIP captioner, for that choice of captions.")


_D: dict[str, Any] = {"removed": False}

PRESETS = (
    Preset(
        name="default",
        title="Fine-tune",
        sentence="Originals and object-removed images, noun phrases deleted and objects painted over: the paper's own "
        "choice, with Telea in place of its network.",
        settings={"recipes": ({},)},
    ),
    Preset(
        name="compare",
        title="With and without",
        sentence="The same fine-tuning on originals alone and on both; what differs is what removal teaches. "
        "The paper, CLIP on COCO, ODmAP@1: 59.8 against 70.1.",
        settings={"recipes": (_D, {})},
    ),
    Preset(
        name="paper",
        title="As published",
        sentence="With and without, trained as in the paper: ten epochs in batches of 256 by Adam, at the model's own "
        "learning rate (CLIP 2e-6), halved every two epochs. Both take the same steps, so an epoch is one of D + D′.",
        settings={
            "recipes": (_D, {}),
            "epochs": 10.0,
            "batch": 256,
            "optimiser": "adam",
            "halve_every": 2.0,
            "weight_decay": 0.0,
        },
    ),
    Preset(
        name="table3_fills",
        title="Table 3, fills",
        sentence="Noun phrases deleted; the object blurred, zeroed, set to its mean, or painted over. "
        "The paper, CLIP on COCO, ODmAP@1: 67.9, 68.9, 69.1, 70.1.",
        settings={"recipes": ({"fill": "blur"}, {"fill": "zero"}, {"fill": "mean"}, {})},
    ),
    Preset(
        name="table3_texts",
        title="Table 3, captions",
        sentence="Originals alone; with a captioner's captions; with prompts; with noun phrases deleted. "
        "The paper, CLIP on COCO, ODmAP@1: 59.8, 61.9, 73.8, 70.1. The captioner is BLIP where the paper has ClipCap: "
        "about 1 GB from the Hub, or a folder that you name.",
        settings={"recipes": (_D, {"text": "captioner", "captioner": BLIP}, {"text": "prompts"}, {})},
    ),
    Preset(
        name="appendix_b",
        title="Appendix B",
        sentence="As many original pairs as removed ones; removed ones alone; all original and removed pairs. "
        "The paper, CLIP on COCO, ODmAP@1: 61.5, 66.4, 70.1.",
        settings={"recipes": ({"originals": "matched", "removed": False}, {"originals": "none"}, {})},
    ),
    Preset(
        name="figure4",
        title="Figure 4",
        sentence="More and more removed pairs per original pair: 0.02, 0.08, 0.2, 0.4, from five captions of an image. "
        "In the paper ODmAP@1 rises steeply to 0.1, slowly to 0.2 and is flat beyond.",
        settings={"recipes": tuple({"ratio": ratio, "captions_each": 5} for ratio in (0.02, 0.08, 0.2, 0.4))},
    ),
)


def recipe(values: Mapping[str, Any]) -> PairRecipe:
    """Make a checked recipe.

    Raises:
        ParameterError: a value is unknown, of the wrong type or out of range; or nothing is left to train on.
    """
    from trainers.errors import ParameterError
    from trainers.object_removal.fills import fill_named

    made: PairRecipe = make(PairRecipe, dict(values), "A recipe")
    fill_named(made.fill)
    if made.originals == "none" and not made.removed:
        raise ParameterError("A recipe needs images: originals, object-removed ones or both; got neither.")
    if made.removed and made.text == "captioner" and not made.captioner:
        raise ParameterError("Captions of a captioner need its folder or Hub id in `captioner`; got nothing.")
    return made


def title(recipe: PairRecipe) -> str:
    """Write ``D + D′ (phrases, telea, 0.08)``: the paper's signs, and |D′| / |D| as it was asked for."""
    originals = {"all": "D", "matched": "D, as many", "none": ""}[recipe.originals]
    if not recipe.removed:
        return originals
    ratio = "all" if recipe.ratio is None else f"{recipe.ratio:g}"
    made = f"D′ ({recipe.text}, {recipe.fill}, {ratio})"
    return f"{originals} + {made}" if originals else made


def titles(recipes: Sequence[PairRecipe]) -> list[str]:
    """Title every arm differently."""
    return numbered([title(recipe) for recipe in recipes])
