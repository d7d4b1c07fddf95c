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
    printed="H-AP: HAPPIER 38.8, HAPPIER-F 38.3, Smooth-AP 37.3, ROADMAP 37.0, CSL 36.2.",
    lacking=("Google Landmarks v2 with its hierarchy and the published weights of ResNet-101 are not at hand."),
    recipe=recipes.full_size("h_gldv2"),
    order=116,
)
