"""Programs that track experiments, to which a run's numbers, settings and newest map are mirrored as they come.

Each is one class below with three methods; :mod:`trainers.trackers.mirror` calls them in a thread of its own, so that
nothing they do delays or stops a run. To add one, add a class to ``TRACKERS`` and its name to ``trainers/config.py``.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import netrc
import os
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Protocol
from urllib.parse import urlparse

import numpy as np

from trainers.errors import ParameterError

PROJECT = "rankscope"


@dataclass(frozen=True, kw_only=True)
class Tracked:
    """The run that is mirrored.

    Attributes:
        id: of the run; a tracker's run of the same id is gone on with.
        title: what it compares, on which images.
        settings: its configuration, as JSON holds it.
        root: folder of the runs.
        step: the step from which it goes on; 0: it begins.
    """

    id: str
    title: str
    settings: Mapping[str, Any]
    root: Path
    step: int


class Tracker(Protocol):
    """A tracker's run, made from a :class:`Tracked`; any method may raise anything.

    Attributes:
        package: the module that it needs.
    """

    package: ClassVar[str]

    def __init__(self, run: Tracked) -> None: ...

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        """Take the numbers of a step, by name."""

    def picture(self, step: int, pixels: np.ndarray) -> None:
        """Take the newest maps, uint8 RGB ``[H, W, 3]``."""

    def finish(self) -> None:
        """Write everything that is left."""


class TensorBoard:
    """Event files in ``RUNS/tensorboard/ID``; what was written beyond the step that a run goes on from is left out."""

    package: ClassVar[str] = "tensorboard"

    def __init__(self, run: Tracked) -> None:
        from torch.utils.tensorboard import SummaryWriter

        folder = run.root / "tensorboard" / run.id
        self._writer: Any = SummaryWriter(str(folder), purge_step=run.step + 1 if run.step else None)
        lines = "\n".join(f"    {name}: {value}" for name, value in run.settings.items())
        self._writer.add_text("settings", f"{run.title}\n\n{lines}", run.step)

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        """See :class:`Tracker`."""
        for name, value in values.items():
            self._writer.add_scalar(name, value, step)
        self._writer.flush()

    def picture(self, step: int, pixels: np.ndarray) -> None:
        """See :class:`Tracker`."""
        self._writer.add_image("maps", pixels, step, dataformats="HWC")

    def finish(self) -> None:
        """See :class:`Tracker`."""
        self._writer.close()


class WandB:
    """A run of Weights & Biases; offline where neither ``WANDB_MODE`` nor a key says otherwise."""

    package: ClassVar[str] = "wandb"

    def __init__(self, run: Tracked) -> None:
        import wandb

        self._wandb: Any = wandb
        self._run: Any = wandb.init(
            project=os.environ.get("WANDB_PROJECT", PROJECT),
            id=run.id,
            name=run.title,
            config=dict(run.settings),
            resume="allow",
            mode=None if "WANDB_MODE" in os.environ or _has_key() else "offline",
            settings=wandb.Settings(console="off", silent=True),
        )
        self._run.define_metric("*", step_metric="step")

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        """See :class:`Tracker`."""
        self._run.log({"step": step, **values})

    def picture(self, step: int, pixels: np.ndarray) -> None:
        """See :class:`Tracker`."""
        self._run.log({"step": step, "maps": self._wandb.Image(pixels)})

    def finish(self) -> None:
        """See :class:`Tracker`."""
        self._run.finish()


class Trackio:
    """A run of Trackio, in its local database, or where its environment variables say."""

    package: ClassVar[str] = "trackio"

    def __init__(self, run: Tracked) -> None:
        self._trackio: Any = importlib.import_module("trackio")
        with _elsewhere():
            self._run: Any = self._trackio.init(
                project=PROJECT, name=f"{run.title} {run.id}", config=dict(run.settings), resume="allow", embed=False
            )

    def numbers(self, step: int, values: Mapping[str, float]) -> None:
        """See :class:`Tracker`."""
        self._run.log(dict(values), step=step)

    def picture(self, step: int, pixels: np.ndarray) -> None:
        """See :class:`Tracker`."""
        self._run.log({"maps": self._trackio.Image(pixels)}, step=step)

    def finish(self) -> None:
        """See :class:`Tracker`."""
        with _elsewhere():
            self._run.finish()


TRACKERS: Mapping[str, type[Tracker]] = MappingProxyType(
    {"tensorboard": TensorBoard, "trackio": Trackio, "wandb": WandB}
)


def check_there(name: str) -> None:
    """Check that a tracker can be used.

    Raises:
        ParameterError: its package is not installed.
    """
    package = TRACKERS[name].package
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:  # a folder of that name, such as the one that wandb makes, is none
        raise ParameterError(
            f"The tracker {name} needs the package {package}, which is not installed. Run `pip install {package}`, or "
            "leave --track out."
        )


def _has_key() -> bool:
    """Return whether somebody has logged in to Weights & Biases here; it would ask on the terminal otherwise."""
    host = urlparse(os.environ.get("WANDB_BASE_URL", "https://api.wandb.ai")).hostname or ""
    if os.environ.get("WANDB_API_KEY"):
        return True
    with contextlib.suppress(OSError, netrc.NetrcParseError):
        return netrc.netrc().authenticators(host) is not None
    return False


class _Elsewhere:
    """The standard output, but for the thread that made it the standard error."""

    def __init__(self) -> None:
        self._thread, self._results, self._told = threading.get_ident(), sys.stdout, sys.stderr

    def __getattr__(self, name: str) -> Any:
        return getattr(self._told if threading.get_ident() == self._thread else self._results, name)


def _elsewhere() -> contextlib.AbstractContextManager[Any]:
    """Keep what a library prints in this thread from the standard output, where commands write results meanwhile."""
    aside: Any = _Elsewhere()
    return contextlib.redirect_stdout(aside)
