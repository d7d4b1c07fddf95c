"""HAPPIER on DyML: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="happier_dyml",
    title="HAPPIER on DyML",
    work="rank_losses",
    statement="On the three sets of dynamic metric learning HAPPIER has the best mAP.",
    where="Table VIII",
    printed=recipes.printed(
        "mAP of HAPPIER and the best other loss: {} (Vehicle), {} (Animal), {} and 36.9 (Product).",
        ("dyml_vehicle", "level_mean_AP", "HAPPIER", "NSM over levels"),
        ("dyml_animal", "level_mean_AP", "HAPPIER", "NSM over levels"),
        ("dyml_product", "level_mean_AP", "HAPPIER"),
    ),
    lacking="The images of DyML and published weights are not at hand.",
    recipe=recipes.full_size("dyml_vehicle"),
    order=117,
)
