"""Metric learning in the sidebar: images, losses, encoder, budget and the rest; and as a function with plain values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import gradio as gr

from explorer.page.form import Form
from explorer.page.form.kind_page import KindPage
from explorer.server.runs import Runs
from explorer.server.visitors import caller
from trainers.config import MAX_ARMS, RunConfig
from trainers.errors import ParameterError
from trainers.kinds.metric_learning import DESCRIPTOR as KIND
from trainers.kinds.metric_learning.config import MetricLearningConfig

_FIRST = MetricLearningConfig()


def configuration(
    losses: Sequence[str],
    images: str = _FIRST.data.source,
    loss_parameters: Sequence[Mapping[str, Any]] | None = None,
    encoder: str = _FIRST.encoder.name,
    encoder_parameters: Mapping[str, Any] | None = None,
    training: Mapping[str, Any] | None = None,
    conditions: Mapping[str, Any] | None = None,
) -> RunConfig:
    """Make a checked configuration of plain values.

    Raises:
        ParameterError: naming what was needed, what it got and what to do.
    """
    given = list(loss_parameters or ())
    if not losses:
        raise ParameterError(f"A run needs a loss: choose one to {MAX_ARMS}.")
    if len(given) > len(losses):
        raise ParameterError(f"Got {len(given)} sets of loss parameters for {len(losses)} losses; give one per loss.")
    parameters = [*given, *({} for _ in losses[len(given) :])]
    settings = {
        "data.source": images,
        "losses": [{"name": name, "parameters": values} for name, values in zip(losses, parameters, strict=True)],
        "encoder": {"name": encoder, "parameters": encoder_parameters or {}},
        **(training or {}),
        **{f"data.conditions.{name}": value for name, value in (conditions or {}).items()},
    }
    folds = [f"data.conditions.{name}" for name in ("folds", "fold")]
    return Form(kind=KIND, page=DESCRIPTOR, public=True).config(settings, also=folds)


def endpoints(runs: Runs) -> list[Callable[..., Any]]:
    """Return the public endpoint ``start_run``."""

    def start_run(
        losses: list[str],
        images: str = _FIRST.data.source,
        loss_parameters: list[dict[str, Any]] | None = None,
        encoder: str = _FIRST.encoder.name,
        encoder_parameters: dict[str, Any] | None = None,
        sampler: str = _FIRST.sampler,
        training: dict[str, Any] | None = None,
        token: str = "",
        conditions: dict[str, Any] | None = None,
        request: gr.Request | None = None,
    ) -> str:
        """Queue a comparison of losses and return its run id at once.

        Args:
            losses: catalogue names, for example smooth_ap and happier.
            images: a catalogue name, a Hub id or, on one's own machine, a folder.
            loss_parameters: for each loss the parameters that differ from its defaults.
            encoder: catalogue name.
            encoder_parameters: those that differ from its defaults.
            sampler: catalogue name.
            training: the settings with a control of their own, by name; list_kinds has them.
            token: any secret word; on a public page it is needed to stop the run.
            conditions: of training, by name: label_noise, noise_kind, withheld_classes, withheld_images, folds, fold.
        """
        config = configuration(
            losses,
            images,
            loss_parameters,
            encoder,
            encoder_parameters,
            {"sampler": sampler, **(training or {})},
            conditions,
        )
        return runs.start(config, token, caller(request))

    return [start_run]


DESCRIPTOR = KindPage(
    name=KIND.name,
    presets=False,
    images="groceries",
    sets={"encoder": lambda encoder: {"learning_rate": encoder.learning_rate}},
    added=("supcon", "proxy_anchor", "roadmap", "smooth_ap"),
    endpoints=endpoints,
)
