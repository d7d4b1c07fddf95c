"""The run whose encoder a new run starts from: a field, and a button that fills it with the run that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import gradio as gr
from gradio.components import Component

from explorer.page.blocks import QUIET
from explorer.page.controls import control, raw, read
from explorer.page.entry_picker import EntryPicker
from explorer.page.inspection import failed, paragraph
from explorer.page.parameter_panel import fold
from explorer.server.runs import Runs
from trainers.config import StartConfig
from trainers.errors import UserError
from trainers.parameters import Choice, Spec, specs
from trainers.training.encoder_file import RunEncoders

_VIEWED = "() => [window.rankscope?.current?.() ?? '', String(performance.now())]"
_NONE = "No run is shown. Open one in Live or Runs, then press again."


@dataclass(frozen=True, kw_only=True)
class StartPicker:
    """The setting ``start`` of a kind, which a public page does not offer.

    Attributes:
        config: the class of the configurations.
        encoder: the picker that is set to the encoder of the run, which has to be the same.
    """

    config: type[StartConfig]
    encoder: EntryPicker

    @cached_property
    def spec(self) -> Spec:
        """Of the setting."""
        return next(spec for spec in specs(self.config) if spec.name == "start")

    def build(
        self, encoder: Mapping[str, Component], drawn: gr.Textbox, note: gr.HTML, runs: Runs | None
    ) -> dict[str, Component]:
        """Build field and button; both are hidden where strangers start runs.

        Args:
            encoder: the fields of :attr:`encoder`.
            drawn: see :func:`explorer.page.parameter_panel.parameter_fold`.
            note: says what the button did.
            runs: None: there are none to choose from.
        """
        offered = runs is not None and not runs.public
        with gr.Column(visible=offered, min_width=80), fold("Start from another run"):
            field = control(self.spec, "")
            button = gr.Button("Take the run that is shown", size="sm")
        if runs is not None and offered:
            viewed = gr.Textbox(visible=False, label="Run that is shown")
            outputs = [field, *encoder.values(), note, drawn]
            button.click(
                lambda shown, turn: self._taken(runs, shown, turn), [viewed, drawn], outputs, js=_VIEWED, **QUIET
            )
        return {self.spec.name: field}

    def held(self, config: StartConfig) -> dict[str, Any]:
        """Return the value of the field that shows ``config``, by name."""
        return {self.spec.name: raw(self.spec, config.start)}

    def chosen(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the setting, if it is given.

        Raises:
            ParameterError: it is no text.
        """
        return read(self.config, {self.spec.name: values[self.spec.name]}, "Training")

    def _taken(self, runs: Runs, shown: str, turn: str) -> list[object]:
        """Return updates of field, encoder, note and turn."""
        unchanged: list[object] = [gr.skip()] * 3
        if not shown:
            return [*unchanged, failed(_NONE), gr.skip()]
        try:
            folder = runs.find(shown)
            choice = RunEncoders(folder).choice
            self._check(choice)
        except (UserError, OSError) as error:
            return [*unchanged, failed(str(error)), gr.skip()]
        arms = folder.config.arms
        which = f"; write {folder.id}:1 for its second, up to :{arms - 1}" if arms > 1 else ""
        said = f"It starts from the encoder of the first arm of the run that is shown{which}."
        return [folder.id, *self.encoder.held(choice).values(), paragraph(said, role="status"), turn]

    def _check(self, choice: Choice) -> None:
        if choice.name not in self.encoder.entries:
            raise UserError(f"The encoder {choice.name!r:.60} of that run is not trained by runs of this kind.")
