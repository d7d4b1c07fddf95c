"""What a model is fine-tuned on: originals D, object-removed pairs D', or both (Kim et al. 2023, 3.3 and table 3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from trainers.parameters import make, parameter
from trainers.removal.captioner import WEIGHTS as BLIP

ORIGINALS = ("all", "matched", "none")
TEXTS = ("phrases", "prompts", "captioner")


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The training pairs of one arm. Without originals and without removed pairs nothing is left to train on."""

    originals: str = parameter(
        "all", choices=ORIGINALS, help="Photos as they are: all, as many as there are removed ones, or none."
    )
    removed: bool = parameter(True, help="Also train on photos without an object.")
    text: str = parameter(
        "phrases",
        choices=TEXTS,
        help="Their sentences: the own ones without its noun phrase, one of 80 prompts, or a captioner's.",
    )
    fill: str = parameter("telea", help="What is painted over the object.")
    ratio: float | None = parameter(
        None, low=0.01, high=1.0, help="Removed photos per original photo; empty takes all there are."
    )
    captions_each: int = parameter(1, low=1, high=5, help="Sentences of each removed photo.")
    captioner: str = parameter("", help="Folder or Hub id of a BLIP captioner, for that choice of sentences.")


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Recipes that repeat one experiment of the paper.

    Attributes:
        name, title, sentence: as listed.
        recipes: as :func:`recipe` reads them.
    """

    name: str
    title: str
    sentence: str
    recipes: tuple[Mapping[str, Any], ...] = field(default_factory=tuple)


_D: dict[str, Any] = {"removed": False}

PRESETS = (
    Preset(
        name="mend",
        title="Mend",
        sentence="Originals and object-removed photos, noun phrases deleted and objects painted over: the paper's own "
        "choice, with Telea in place of its network.",
        recipes=({},),
    ),
    Preset(
        name="compare",
        title="With and without",
        sentence="The same fine-tuning on originals alone and on both; what differs is what removal teaches. "
        "The paper, CLIP on COCO, ODmAP@1: 59.8 against 70.1.",
        recipes=(_D, {}),
    ),
    Preset(
        name="table3_fills",
        title="Table 3, fills",
        sentence="Noun phrases deleted; the object blurred, zeroed, set to its mean, or painted over. "
        "The paper, CLIP on COCO, ODmAP@1: 67.9, 68.9, 69.1, 70.1.",
        recipes=({"fill": "blur"}, {"fill": "zero"}, {"fill": "mean"}, {}),
    ),
    Preset(
        name="table3_texts",
        title="Table 3, sentences",
        sentence="Originals alone; with a captioner's sentences; with prompts; with noun phrases deleted. "
        "The paper, CLIP on COCO, ODmAP@1: 59.8, 61.9, 73.8, 70.1. The captioner is BLIP where the paper has ClipCap: "
        "about 1 GB from the Hub, or a folder that you name.",
        recipes=(_D, {"text": "captioner", "captioner": BLIP}, {"text": "prompts"}, {}),
    ),
    Preset(
        name="appendix_b",
        title="Appendix B",
        sentence="As many originals as removed photos; removed photos alone; all originals and removed photos. "
        "The paper, CLIP on COCO, ODmAP@1: 61.5, 66.4, 70.1.",
        recipes=({"originals": "matched", "removed": False}, {"originals": "none"}, {}),
    ),
    Preset(
        name="figure4",
        title="Figure 4",
        sentence="More and more removed photos per original photo: 0.05, 0.1, 0.2, 0.4. "
        "In the paper ODmAP@1 rises steeply to 0.1, slowly to 0.2 and is flat beyond.",
        recipes=({"ratio": 0.05}, {"ratio": 0.1}, {"ratio": 0.2}, {"ratio": 0.4}),
    ),
)


def recipe(values: Mapping[str, Any]) -> Recipe:
    """A checked recipe.

    Raises:
        ParameterError: a value is unknown, of the wrong type or out of range; or nothing is left to train on.
    """
    from trainers.errors import ParameterError
    from trainers.removal.fills import FILLS

    found: Recipe = make(Recipe, dict(values), "A recipe")
    if found.fill not in FILLS:
        raise ParameterError(f"There is no fill {found.fill!r}; choose from {', '.join(FILLS)}.")
    if found.originals == "none" and not found.removed:
        raise ParameterError("A recipe needs photos: originals, object-removed ones or both; neither came.")
    if found.removed and found.text == "captioner" and not found.captioner:
        raise ParameterError("Sentences of a captioner need its folder or Hub id in `captioner`; nothing came.")
    return found


def title(found: Recipe) -> str:
    """``D + D' (phrases, telea)``, as the paper writes it."""
    own = {"all": "D", "matched": "D, as many", "none": ""}[found.originals]
    if not found.removed:
        return own
    ratio = "" if found.ratio is None else f", {found.ratio:g} each"
    made = f"D′ ({found.text}, {found.fill}{ratio})"
    return f"{own} + {made}" if own else made


def titles(recipes: Sequence[Recipe]) -> list[str]:
    """One title per arm, all different."""
    plain = [title(one) for one in recipes]
    often, seen = Counter(plain), Counter()
    for place, name in enumerate(plain):
        seen[name] += 1
        if often[name] > 1:
            plain[place] = f"{name} #{seen[name]}"
    return plain
