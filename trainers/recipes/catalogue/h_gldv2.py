"""HAPPIER on landmarks: a recipe, see :mod:`trainers.recipes.base`."""

from __future__ import annotations

from trainers.parameters import Choice
from trainers.recipes.base import Dataset, Recipe, ours, published, stated, table
from trainers.recipes.papers import rank_losses as paper

_ARMS = ("smooth_ap", *paper.bound("roadmap", preset="sop"), "csl", *paper.bound("happier", "happier_f", preset="sop"))

DESCRIPTOR = Recipe(
    name="h_gldv2",
    title="H-GLDv2: HAPPIER and other losses on landmarks",
    paper=paper.PAPER,
    sentence="Landmarks with 78 super-categories, natural or made by humans.",
    dataset=Dataset(
        title="H-GLDv2",
        source="path/to/h-gldv2",
        layout="A folder with train and test (the index), below each KIND/SUPERCATEGORY/LANDMARK/*.jpg, natural or "
        "made by humans. The labels are at github.com/cvdfoundation/google-landmark.",
        levels=3,
    ),
    kind="metric_learning",
    settings={
        **paper.TRAINING,
        **{name: ours(paper.TRAINING[name].value, "as on the other sets") for name in paper.UNSAID},
        "encoder": stated(
            Choice(
                name="timm",
                parameters={"model": "resnet101.a1_in1k", "pooling": "gem", "projection": "pca"},
            ),
            "section VII-C3: ResNet-101, GeM pooling, projection begun by PCA; the tag of the weights is ours",
        ),
        "frozen_norm": published(True, paper.CODE),
        "optimiser": stated("adam", "section VII-C3"),
        "schedule": stated("cosine", "section VII-C3"),
        "sampler": published("m_per_class", paper.CODE),
        "classes_per_batch": stated(64, "section VII-C3: batches of 256"),
        "backbone_rate": ours(1.0),
        "learning_rate": ours(1e-5, "our text has lost the number"),
        "weight_decay": ours(1e-4),
        "steps": ours(100_000, "our text has lost the number"),
        **paper.asked("AP_at_100"),
    },
    arms=stated(_ARMS, f"Table VII; {paper.BOUND}"),
    figures=table(
        "Table VII",
        ("AP_at_100", "HAP", "ASI", "NDCG"),
        {
            _ARMS[0]: ("Smooth-AP", 42.5, 37.3, 76.9, 94.7),
            _ARMS[1]: ("ROADMAP", 42.9, 37.0, 75.0, 94.4),
            _ARMS[2]: ("CSL", 37.5, 36.2, 85.4, 95.7),
            _ARMS[3]: ("HAPPIER", 41.6, 38.8, 83.8, 95.7),
            _ARMS[4]: ("HAPPIER-F", 43.7, 38.3, 77.5, 94.8),
        },
    ),
    differs=(
        "The text gives alpha of HAPPIER-F for SOP and iNaturalist; here it is that of SOP, 5.",
        "The queries of GLDv2 are photographs apart from its index; here every test image is a query for the others.",
        "At most a million images of a split are read, and the code's cap of images for each class is no setting here.",
        paper.COUNTED,
    ),
    order=230,
)
