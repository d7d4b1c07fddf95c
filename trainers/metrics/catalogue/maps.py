"""Numbers of the maps: what a map keeps of the space. Those with a paper are computed by the page's map process."""

from __future__ import annotations

from functools import partial

from trainers.metrics.measure import Measure

TRUSTWORTHINESS = "map_label_trustworthiness"
CONTINUITY = "map_label_continuity"
AGREEMENT = "map_move_agreement"
NOISE_FLOOR = "map_noise_floor"
EPOCHS = "map_epochs"
RECALL = "map_neighbour_recall"
KEPT = "map_kept_neighbours"
NEAREST = 15  # neighbours of an image that a map keeps or loses
MOVE = "map_move"
CURVES = (TRUSTWORTHINESS, CONTINUITY, AGREEMENT, KEPT, MOVE)
"""Numbers of every kind of run that have a curve over the frames."""

_label = partial(
    Measure,
    family="map",
    each_level=True,
    paper="Classes are not Clusters: Improving Label-based Evaluation of Dimensionality Reduction, Jeon et al., "
    "TVCG 2024",
    url="https://arxiv.org/abs/2308.00278",
)
_number = partial(Measure, family="training", better="")
DESCRIPTORS = (
    _label(
        name=TRUSTWORTHINESS,
        title="Label trustworthiness",
        short="label T",
        sentence="Are classes that are apart in the space also apart on the map? 1: no two classes are closer together "
        "on the map than in the space. Low: classes overlap here that the model tells apart.",
        equation=r"1-\frac{2}{C(C-1)}\sum_{i<j}\max(0,\,M_{ij}-M'_{ij})",
        symbols={
            "C": "number of classes",
            "M_{ij}": "how separate classes i and j are in the space",
            "M'_{ij}": "how separate they are on the map",
        },
        order=166,
    ),
    _label(
        name=CONTINUITY,
        title="Label continuity",
        short="label C",
        sentence="Are classes as close on the map as they are in the space? 1: no two classes are further apart on the "
        "map than in the space. Low: classes look more separate than they are, so a tidy map is no proof of a better "
        "loss.",
        equation=r"1-\frac{2}{C(C-1)}\sum_{i<j}\max(0,\,M'_{ij}-M_{ij})",
        symbols={
            "C": "number of classes",
            "M_{ij}": "how separate classes i and j are in the space",
            "M'_{ij}": "how separate they are on the map",
        },
        order=167,
    ),
    _number(
        name=AGREEMENT,
        title="Agreement of moves",
        short="moves agree",
        sentence="Did the images that moved far on the map also move far in the space since the map before? Spearman's "
        "rank correlation: 1 for the same order, 0 where motion on the map says nothing about the space.",
        unit="number",
        order=250,
    ),
    _number(
        name=NOISE_FLOOR,
        title="Noise floor of the map",
        short="noise floor",
        sentence="How far 95 % of the images move at most when the same embedding is laid out once more, in standard "
        "deviations of the map. Images that move less in the next map are drawn where they are. Of more than 10,000 "
        "images it is estimated on 4,000.",
        unit="number",
        order=251,
    ),
    _number(
        name=KEPT,
        title="Neighbours kept by the map",
        short="kept",
        sentence="Share of the 15 nearest neighbours in the space that are among the 15 nearest on the map. Of more "
        "than 10,000 images it is estimated on 1,000.",
        order=252,
    ),
    _number(
        name=MOVE,
        title="Median move on the map",
        short="move",
        sentence="Median distance that images moved since the map before, in standard deviations of the map.",
        unit="number",
        order=253,
    ),
    _number(
        name=EPOCHS,
        title="Epochs of the map",
        short="epochs",
        sentence="Epochs of gradient descent that made the map from the one before.",
        unit="number",
        order=254,
    ),
    _number(
        name=RECALL,
        title="Recall of the map’s neighbours",
        short="recall",
        sentence="Share of the 20 nearest neighbours that the map was made of, estimated on 1,000 images: those of "
        "more than 10,000 images are searched from those of the map before. Neighbours that are shown are exact.",
        order=255,
    ),
)


def at_level(key: str, level: int) -> str:
    """Return the key of a number of one level of the label tree, 0 the finest."""
    return f"{key}_level{level}"
