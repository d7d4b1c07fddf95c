"""Rankscope for programs: ``import rankscope``. Each name is loaded when it is first used.

rankscope.train("folder", ["smooth_ap", "happier"], steps=500).results()
loss = rankscope.losses["roadmap"].build(num_classes=100, dim=64)
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from trainers.brought.log import LoggedRun, log_run
    from trainers.losses import LOSSES
    from trainers.metrics import METRICS
    from trainers.plugins import use as use_plugin
    from trainers.scripting.models import LoadedModel, load_model
    from trainers.scripting.opened import OpenedRun, open_run
    from trainers.scripting.training import finetune, pretrain, sweep, train

    losses, metrics = LOSSES, METRICS

__all__ = [
    "LoadedModel",
    "LoggedRun",
    "OpenedRun",
    "finetune",
    "load_model",
    "log_run",
    "losses",
    "metrics",
    "open_run",
    "pretrain",
    "sweep",
    "train",
    "use_plugin",
]

_PLACES = {
    "LoadedModel": "trainers.scripting.models:LoadedModel",
    "LoggedRun": "trainers.brought.log:LoggedRun",
    "OpenedRun": "trainers.scripting.opened:OpenedRun",
    "finetune": "trainers.scripting.training:finetune",
    "load_model": "trainers.scripting.models:load_model",
    "log_run": "trainers.brought.log:log_run",
    "losses": "trainers.losses:LOSSES",
    "metrics": "trainers.metrics:METRICS",
    "open_run": "trainers.scripting.opened:open_run",
    "pretrain": "trainers.scripting.training:pretrain",
    "sweep": "trainers.scripting.training:sweep",
    "train": "trainers.scripting.training:train",
    "use_plugin": "trainers.plugins:use",
}


def __getattr__(name: str) -> Any:
    """Load one of the public names."""
    if name not in _PLACES:
        raise AttributeError(f"rankscope has no {name!r}; it has {', '.join(__all__)}")
    importlib.import_module("trainers.plugins").begin()
    module, _, attribute = _PLACES[name].partition(":")
    value = globals()[name] = getattr(importlib.import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]


def main() -> None:
    """Open the page; ``rankscope train ...`` and the other verbs do what ``python -m trainers`` does."""
    from trainers.__main__ import run

    if len(sys.argv) > 1 and not sys.argv[1].startswith("-"):
        sys.exit(run(sys.argv[1:]))
    if {"-h", "--help"} & set(sys.argv[1:]):
        run([])
        print("\nWithout a command the page opens:\n")
    from app import main as page

    page()
