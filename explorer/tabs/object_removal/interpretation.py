"""The points that Kim et al. 2023 leave open, and how they are read here; shown beside the numbers."""

from __future__ import annotations

from trainers.object_removal.vocabulary import added_words

_ADDED = "; ".join(f"{', '.join(words)} for {name}" for name, words in added_words().items())

READINGS = (
    "Areas of overlapping boxes are areas of their union.",
    "A class that would lose 40 to 80 % of its area forbids the removal: too much to stay, too little to go.",
    "Where several classes go together, those that stay are measured against everything that goes.",
    "One class of an image is removed, chosen with equal chances and a fixed seed; “all removals” takes each in turn.",
    "A caption is correct if it names at least one class that stays and none that went; other classes do not count.",
    "Equal captions of several images are one caption of the gallery.",
    "Words count whole and in their plural, and the longest entry of the word table wins: a hot dog is no dog.",
    f"Words that the paper's table lacks: {_ADDED}. Who rides something is a person, not what is ridden.",
    "Flickr30k Entities: the paper's four classes are taken to be people, animals, vehicles and instruments. Annotated "
    "phrases are deleted as they are; after phrases found by rule a leading “of”, “with” or “and” goes too.",
    "The phrases to delete are those of the removed class: the paper's example says so, where its formula prints the "
    "classes that stay.",
    "Captions from which a phrase was deleted are trained on first, then those that never named the object.",
    "A caption that names nothing that is left, once phrases are deleted, makes no pair to train on.",
    "AP@k is divided by k, or by the number of correct captions if there are fewer; images without any are left out.",
    "Telea stands in for the paper's inpainting network; LaMa can be used from a file of your own.",
    "The paper's 80 prompts are not listed; CLIP's 80 are used.",
    "Images are squashed to a square, so that no crop hides what was removed.",
)
"""Shown beside the numbers, in this order."""
