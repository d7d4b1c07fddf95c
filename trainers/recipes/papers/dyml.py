"""The three sets of dynamic metric learning, in the appendix of the rank losses (Ramzi et al. 2023)."""

from __future__ import annotations

from collections.abc import Mapping

from trainers.parameters import Choice
from trainers.recipes.base import Dataset, Setting, ours, published, stated
from trainers.recipes.papers.rank_losses import CODE, COUNTED, PAPER, TRAINING, UNSAID, asked, bound

__all__ = ["COLUMNS", "DIFFERS", "PAPER", "arms", "dataset", "settings", "sourced"]
COLUMNS = ("level_mean_AP", "ASI", "level_mean_R_at_1")
DIFFERS = (
    "The code trains by SGD with Nesterov's momentum; sgd here has the ordinary one.",
    "Our text of the paper says nothing of the training on these sets.",
    COUNTED,
)


def dataset(title: str) -> Dataset:
    """Return one of the three sets by its title."""
    return Dataset(
        title=title,
        source=f"path/to/{title.lower()}",
        layout="A folder with train and test, below each COARSE/MIDDLE/FINE/*.jpg; the authors hand out the images.",
        levels=3,
    )


def arms(weights: str = "") -> tuple[str, ...]:
    """Return the losses of Table VIII that are compared.

    Args:
        weights: of HAPPIER, as parameters; empty: its own.
    """
    happier = f"happier:{weights}" if weights else "happier"
    roadmap, last = bound("roadmap", happier, preset="sop")
    return ("smooth_ap", roadmap, "proxy_nsm", "proxy_nsm_levels", "csl", last)


def sourced(names: tuple[str, ...]) -> Setting:
    """Return the arms with their source."""
    return stated(names, "Table VIII; the bound and the weights of HAPPIER are the published code's")


def settings(*, learning_rate: float) -> Mapping[str, Setting]:
    """Return the settings of one set."""
    return {
        **TRAINING,
        **{name: ours(TRAINING[name].value, "as on the other sets") for name in UNSAID},
        "encoder": ours(Choice(name="timm", parameters={"model": "resnet34.tv_in1k"})),
        "frozen_norm": ours(True, "as on the other sets"),
        "sampler": published("m_per_class", CODE),
        "optimiser": published("sgd", CODE),
        "momentum": ours(0.9),
        "learning_rate": published(learning_rate, CODE),
        "backbone_rate": ours(1.0),
        "weight_decay": ours(1e-4),
        "epochs": ours(100.0, "as on the other sets"),
        **asked(COLUMNS[0], COLUMNS[2]),
    }
