"""The training of a kind of run, and the numbers that come of it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic

from trainers.config import C, RunConfig
from trainers.errors import ParameterError
from trainers.runs.records import PHASES, Phase

if TYPE_CHECKING:
    from torch import nn

    from trainers.metrics.measures import Measures
    from trainers.progress import Progress
    from trainers.runs import RunFolder
    from trainers.training.footprint import Footprint
    from trainers.training.trainer import Trainer


class KindTraining(Generic[C]):
    """The training of a kind of run: its loop, its images and its numbers.

    Attributes:
        plans: it trains nothing itself, see :class:`trainers.plans.base.Plan`.
        no_images: of a kind whose runs hold no images, the end of a sentence that says so.
    """

    plans: bool = False
    no_images: str = ""

    @abstractmethod
    def loop(self) -> type[Trainer]:
        """Return the class that trains a run of this kind."""

    def images(self, config: C) -> Any:
        """Return the images that its arms are evaluated on; None: it embeds none.

        They are a :class:`trainers.config.DataChoice`, or what has its field ``image_size`` and its method ``at``, and
        gives :class:`trainers.data.base.LoadedData` by ``load(progress)``.
        """
        return None

    def embedder_prefix(self, config: C) -> str:
        """Return the prefix of the tensors of :meth:`embedder` within an arm's part of a checkpoint."""
        return config.encoder_prefix

    def embedder(self, config: C, *, channels: int, side: int) -> nn.Module:
        """Build what embeds images in evaluation; its tensors have the names that a checkpoint gives them after
        :meth:`embedder_prefix`. Only of kinds that have :meth:`images`.

        Args:
            channels, side: of the square images, pixels.
        """
        raise NotImplementedError

    def rehearse(self, config: C, root: Path, progress: Progress) -> list[str]:
        """Check what is known of this machine and of the images alone, before a run is made.

        Args:
            config: checked.
            root: the folder where it is to be made.
            progress: told what is read; it may raise to give up.

        Returns:
            sentences on what will not be as it was asked for.

        Raises:
            UserError: the first thing that is wrong, with what to do.
        """
        from trainers.devices.device import choose
        from trainers.devices.gpus import check_processes

        choose(config.single.device)
        check_processes(config.single.processes, config.single.device)
        return []

    def footprint(self, config: C) -> Footprint:
        """Estimate the memory that a run will take."""
        from trainers.training.footprint import Footprint

        return Footprint()

    def runs_of(self, config: C) -> Sequence[RunConfig]:
        """Return the runs that are trained: this one."""
        return (config.single,)

    def parts_of(self, folder: RunFolder) -> Iterable[RunFolder]:
        """Return further folders that belong to a run."""
        return ()

    def phase(self, name: str) -> Phase:
        """Return what a phase means for a run of this kind."""
        return PHASES[name]

    # -------------------------------------------------------------- numbers

    @property
    @abstractmethod
    def measures(self) -> Measures:
        """The numbers that a run of this kind shows, and where."""

    def measures_of(self, config: C) -> Measures:
        """Return the numbers of one run: those of its kind, and what it was asked for."""
        return self.measures

    def headline(self, config: C) -> Sequence[str]:
        """Return the keys of the numbers that the list of runs shows."""
        return self.measures_of(config).headline

    def diagnosis(self, config: C, arm: int, numbers: Mapping[str, float]) -> list[str]:
        """List sentences on what an arm's newest numbers say of its training; none where nothing stands out.

        Args:
            numbers: by key as stored, of those that :attr:`measures` calls ``diagnosed``; some may be missing.
        """
        return []

    def diagnoses(self, config: C, newest: Mapping[tuple[int, str], float | None]) -> list[list[str]]:
        """Return the diagnosis of every arm; none if this version does not know its parameters.

        Args:
            newest: numbers by arm and key; None: not finite.
        """
        arms = range(config.arms)
        known = [{key: value for (at, key), value in newest.items() if at == arm and value is not None} for arm in arms]
        try:
            return [self.diagnosis(config, arm, known[arm]) for arm in arms]
        except ParameterError:
            return [[] for _ in arms]
