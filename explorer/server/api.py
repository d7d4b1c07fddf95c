"""The public endpoints: the same acts as the page's, with plain data in and out."""

from __future__ import annotations

from typing import Any

import gradio as gr

from explorer.page.dataset_picker import Images
from explorer.page.kinds.metric_learning import Form
from explorer.server.plain import typed
from explorer.server.runs import Runs, status_json
from explorer.server.visitors import caller
from trainers.config import RunConfig


def add_api(runs: Runs) -> None:
    """Add ``start_run``, ``run_status``, ``stop_run`` and ``list_runs`` to the page that is being built."""

    def start_run(
        losses: list[str],
        images: str = "drawn",
        loss_parameters: list[dict[str, Any]] | None = None,
        encoder: str = RunConfig().encoder,
        encoder_parameters: dict[str, Any] | None = None,
        sampler: str = "m_per_class",
        training: dict[str, Any] | None = None,
        token: str = "",
        request: gr.Request | None = None,
    ) -> str:
        """Queue a comparison of one to four losses and return its run id at once.

        Args:
            losses: catalogue names, for example smooth_ap and happier.
            images: a catalogue name, a Hub id or, on one's own machine, a folder.
            loss_parameters: for each loss the parameters that differ from its defaults.
            encoder: catalogue name.
            encoder_parameters: those that differ from its defaults.
            sampler: catalogue name.
            training: any of minutes, steps, classes_per_batch, images_per_class, learning_rate, weight_decay,
                clip_norm, dim, memory, memory_after, seed and probe_size.
            token: any secret word; on a public page it is needed to stop the run.
        """
        form = Form(
            images=Images(source=images),
            losses=losses,
            loss_parameters=loss_parameters or [],
            encoder=encoder,
            encoder_parameters=encoder_parameters or {},
            sampler=sampler,
            training=training or {},
        )
        return runs.start(form.config(), token, caller(request))

    def run_status(run_id: str) -> dict[str, Any]:
        """Phase, progress, place in the line, the newest numbers of a run, and what its batches do not suit.

        Args:
            run_id: 26 letters and digits, as start_run returned it.
        """
        return status_json(runs.status(run_id))

    def stop_run(run_id: str, token: str = "") -> str:
        """Stop a run, keeping what it has learnt, or take it out of the line.

        Args:
            run_id: as start_run returned it.
            token: the word given at the start.
        """
        return runs.stop(run_id, token)

    def list_runs() -> list[dict[str, Any]]:
        """Every run, newest first, recorded ones last."""
        return runs.listing()

    for function in (start_run, run_status, stop_run, list_runs):
        gr.api(typed(function), api_name=function.__name__)
