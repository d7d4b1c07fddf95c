"""HAPPIER on landmarks: a claim, see :mod:`trainers.claims.base`."""

from __future__ import annotations

from trainers.claims import recipes
from trainers.claims.base import Claim

DESCRIPTOR = Claim(
    name="happier_landmarks",
    title="HAPPIER on landmarks",
    work="rank_losses",
    statement="On landmarks with a hierarchy of their own, HAPPIER has the best H-AP.",
    where="Table VII",
    printed=recipes.printed(
        "H-AP: HAPPIER {}, HAPPIER-F {}, Smooth-AP {}, ROADMAP {}, CSL {}.",
        ("h_gldv2", "HAP", "HAPPIER"),
        ("h_gldv2", "HAP", "HAPPIER-F"),
        ("h_gldv2", "HAP", "Smooth-AP"),
        ("h_gldv2", "HAP", "ROADMAP"),
        ("h_gldv2", "HAP", "CSL"),
    ),
    lacking=("Google Landmarks v2 with its hierarchy and the published weights of ResNet-101 are not at hand."),
    recipe=recipes.full_size("h_gldv2"),
    order=116,
)
