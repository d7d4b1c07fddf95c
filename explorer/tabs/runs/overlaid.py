"""Several runs over each other: the curves of a metric, and the settings in which the runs differ."""

from __future__ import annotations

import functools
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from explorer.page.charts import colour, styled
from explorer.page.words import brief
from explorer.server.library import Library
from explorer.server.run import Run
from explorer.server.titles import data_title, run_title
from trainers.cells import csv_text, some
from trainers.config import Config
from trainers.errors import ParameterError, UserError
from trainers.kinds import arm_titles, kind_of
from trainers.parameters import Choice, flat
from trainers.pictures.palette import ARM_COLOURS
from trainers.runs.damage import reading
from trainers.runs.label import read_label
from trainers.runs.records import Scalar

MOST = 12
"""Runs that are laid over each other."""
_POINTS = 400
"""Most points of a curve."""
_DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, kw_only=True)
class Overlaid:
    """Runs with their numbers.

    Attributes:
        names: of the runs, all different.
        losses: titles, for each run.
        scalars: for each run.
        settings: for each run, by label.
        metrics: titles of the numbers that change while a run trains, by key, those of the list first.
        left_out: a sentence on what was chosen and is not among them; empty: nothing.
    """

    names: tuple[str, ...]
    losses: tuple[tuple[str, ...], ...]
    scalars: tuple[tuple[Scalar, ...], ...]
    settings: tuple[Mapping[str, str], ...]
    metrics: Mapping[str, str]
    left_out: str

    def curve(self, run: int, arm: int, key: str) -> list[tuple[int, float]]:
        """Return steps and values of a loss of a run."""
        return [(one.step, one.value) for one in self.scalars[run] if (one.arm, one.key) == (arm, key)]

    def lines(self, key: str) -> list[tuple[str, list[tuple[int, float]]]]:
        """Return title and curve of every loss of every run that has the metric."""
        every = [
            (f"{name}: {loss}", self.curve(run, arm, key))
            for run, name in enumerate(self.names)
            for arm, loss in enumerate(self.losses[run])
        ]
        return [(title, curve) for title, curve in every if curve]

    def figure(self, key: str) -> go.Figure:
        """Draw the curves of a metric."""
        figure = go.Figure()
        lines = self.lines(key)
        for number, (title, curve) in enumerate(lines):
            thinned = curve[:: max(1, len(curve) // _POINTS)]
            if thinned[-1] != curve[-1]:
                thinned.append(curve[-1])
            line = {"color": colour(number), "width": 2, "dash": _DASHES[number // len(ARM_COLOURS) % len(_DASHES)]}
            steps, values = zip(*thinned, strict=True)
            mode = "lines+markers" if len(thinned) == 1 else "lines"
            figure.add_trace(go.Scatter(x=steps, y=values, name=html.escape(title), mode=mode, line=line))
        figure.update_xaxes(title_text="step")
        figure.update_yaxes(title_text=self.metrics.get(key, key))
        return styled(figure, 360 + 20 * len(lines), showlegend=True, legend={"orientation": "h", "y": -0.2, "x": 0})

    def last(self, key: str) -> list[list[str]]:
        """Return run, loss, last step and last value of every curve."""
        rows = []
        for run, name in enumerate(self.names):
            for arm, loss in enumerate(self.losses[run]):
                if curve := self.curve(run, arm, key):
                    rows.append([name, loss, f"{curve[-1][0]:,}", f"{curve[-1][1]:.3f}"])
        return rows

    def differing(self) -> tuple[list[str], list[list[str]]]:
        """Return headings and rows of the settings in which the runs differ."""
        labels = list(dict.fromkeys(label for settings in self.settings for label in settings))
        rows = [[label, *(settings.get(label, "–") for settings in self.settings)] for label in labels]
        return ["Setting", *self.names], [row for row in rows if len(set(row[1:])) > 1]

    def csv(self, key: str) -> str:
        """Write the curves of a metric as CSV."""
        rows = [
            [name, loss, step, value]
            for run, name in enumerate(self.names)
            for arm, loss in enumerate(self.losses[run])
            for step, value in self.curve(run, arm, key)
        ]
        return csv_text(["run", "loss", "step", key], rows)


def overlaid(library: Library, run_ids: Sequence[str], public: bool) -> Overlaid:
    """Read the runs that are to be laid over each other.

    Args:
        public: what only the owner of the machine may see is left out.

    Raises:
        UserError: fewer than two runs of those given can be shown, or too many are given.
    """
    asked = list(dict.fromkeys(run_ids))
    if len(asked) > MOST:
        raise UserError(f"At most {MOST} runs are laid over each other; {len(asked)} are chosen.")
    numbers, left_out = _single_runs(library, asked)
    read, scalars = list(numbers), tuple(numbers.values())
    if len(read) < 2:
        why = f" {left_out}" if left_out else ""
        raise UserError(f"Choose two or more single runs to lay over each other.{why}")
    return Overlaid(
        names=_different([brief(read_label(run.folder.path).name or run_title(run), 60) for run in read], read),
        losses=tuple(tuple(brief(title, 60) for title in arm_titles(run.config)) for run in read),
        scalars=scalars,
        settings=tuple(_settings(run, public) for run in read),
        metrics=_metrics(read, scalars),
        left_out=left_out,
    )


def _single_runs(library: Library, run_ids: Sequence[str]) -> tuple[dict[Run, tuple[Scalar, ...]], str]:
    """Return those that can be shown with their numbers, and a sentence on the others."""
    read: dict[Run, tuple[Scalar, ...]] = {}
    sweeps: list[Run] = []
    damaged: list[str] = []
    for run_id in run_ids:
        try:
            with reading(run_id[:40], passed=UserError):
                run = library.get(run_id)
                run.folder.state(), arm_titles(run.config)
                numbers = tuple(run.folder.scalars())
                plans = kind_of(run.config).plans
        except UserError:
            damaged.append(run_id)
            continue
        if plans:
            sweeps.append(run)
        else:
            read[run] = numbers
    words = [f"{some([run_title(run) for run in sweeps])}: the tab Compare shows a sweep."] if sweeps else []
    words += [f"{some(damaged)} cannot be read."] if damaged else []
    return read, " ".join(words)


def _different(names: list[str], read: Sequence[Run]) -> tuple[str, ...]:
    """Tell runs of one name apart by when they were started: by the ends of their ids."""
    return tuple(
        name if names.count(name) == 1 else f"{name} ({run.id[-4:]})" for name, run in zip(names, read, strict=True)
    )


def _metrics(runs: Sequence[Run], scalars: Sequence[Sequence[Scalar]]) -> dict[str, str]:
    titles: dict[str, str] = {}
    first: list[str] = []
    for run, numbers in zip(runs, scalars, strict=True):
        measures = kind_of(run.config).measures_of(run.config)
        first += kind_of(run.config).headline(run.config)
        for key in sorted({one.key for one in numbers}, key=measures.order):
            described = measures.describe(key)
            if described.is_curve:
                titles.setdefault(key, described.title)
    return {
        key: titles[key] for key in sorted(titles, key=lambda key: first.index(key) if key in first else len(first))
    }


_OF_THE_OWNER = frozenset({"scenes.source", "scenes.captions_from", "recipes", "model", "start", "weights"})
"""Settings that may hold a path of the machine."""


def _settings(run: Run, public: bool) -> dict[str, str]:
    config = run.config
    told = {"Kind of run": kind_of(config).title, "Losses": ", ".join(arm_titles(config))}
    for path, spec in flat(type(config)):
        if path == "losses" or (public and (spec.rule.private or path in _OF_THE_OWNER)):
            continue
        if path == "data.source":
            told["Images"] = data_title(run) if public else kind_of(config).source(config)
        else:
            label = f"{spec.label} of {path.rpartition('.')[0]}" if spec.label in told else spec.label
            told[label] = _written(_at(config, path))
    return {label: brief(text, 120) for label, text in told.items()}


def _at(config: Config, path: str) -> Any:
    return functools.reduce(getattr, path.split("."), config)


def _written(value: Any) -> str:
    if isinstance(value, Choice):
        own = ", ".join(f"{name} {_written(each)}" for name, each in value.parameters.items())
        return f"{value.name} ({own})" if own else value.name
    if isinstance(value, (tuple, list)):
        return ", ".join(map(_written, value))
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def metric_of(runs: Overlaid, key: str) -> str:
    """Return the metric that is asked for, or the first one.

    Raises:
        ParameterError: the runs have no numbers yet.
    """
    if not runs.metrics:
        raise ParameterError("These runs have no numbers yet.")
    return key if key in runs.metrics else next(iter(runs.metrics))
