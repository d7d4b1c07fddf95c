"""A run as arrays and tables, for notebooks and scripts."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from trainers.errors import RunError
from trainers.kinds import arm_titles, kind_of
from trainers.metrics.measures import TEST, final_numbers
from trainers.pictures.moments import moments_of
from trainers.retrieval.probe_results import newest_embeddings, probe_embeddings, probe_of, probe_results
from trainers.runs import RunFolder
from trainers.runs.naming import whole_id

if TYPE_CHECKING:
    import pandas as pd


def open_run(run: str | os.PathLike[str], *, runs: str | Path = "runs") -> OpenedRun:
    """Open a run that trains or has ended.

    Args:
        run: its folder; or its id, the beginning of it, its name, or ``last``, of the folder ``runs``.
        runs: folder of the runs.

    Raises:
        UserError: there is no such run, or it is damaged.
    """
    path = Path(run)
    if (path / "config.json").is_file():
        return OpenedRun(
            RunFolder.open(path.resolve().parent, path.resolve().name, read_only=not os.access(path, os.W_OK))
        )
    return OpenedRun(RunFolder.open(Path(runs), whole_id(Path(runs), os.fspath(run))))


class OpenedRun:
    """One run. Every call reads what its folder holds at that moment.

    Attributes:
        id: 26 letters and digits.
        path: its folder.
        losses: titles of its losses (of other kinds of run its methods, recipes or models), in the order of tables.
    """

    def __init__(self, folder: RunFolder) -> None:
        self._folder = folder
        self.id: str = folder.id
        self.path: Path = folder.path
        self.losses: tuple[str, ...] = tuple(arm_titles(folder.config))

    @property
    def phase(self) -> str:
        """``running``, ``finished``, ``failed`` and so on."""
        return self._folder.state().phase

    @property
    def settings(self) -> dict[str, Any]:
        """Its settings by name, as ``config.json`` has them."""
        return self._folder.config.values()

    @property
    def levels(self) -> tuple[str, ...]:
        """Names of the levels of its labels, finest first."""
        return tuple(probe_of(self._folder).hierarchy.levels)

    def numbers(self) -> pd.DataFrame:
        """Return every number that was logged: columns ``loss``, ``step``, ``seconds``, ``key``, ``value``."""
        import pandas as pd

        rows = [(self.losses[s.arm], s.step, s.seconds, s.key, s.value) for s in self._folder.scalars()]
        return pd.DataFrame(rows, columns=["loss", "step", "seconds", "key", "value"])

    def results(self) -> pd.DataFrame:
        """Return the numbers over the whole test set at the end: a row a loss, a column a metric.

        A sweep has them by run: see ``python -m trainers compare``, and :meth:`runs`.
        """
        import pandas as pd

        numbers = final_numbers(self._folder.scalars(), len(self.losses))
        return pd.DataFrame(numbers, index=pd.Index(self.losses, name="loss"))

    def untrained(self) -> pd.DataFrame:
        """Return what the test images show without training: a row a way, a column a metric, beside :meth:`results`.

        Where there are more than 2,000 test images they are scored on an even choice. A run whose images are not kept
        has no row.
        """
        import pandas as pd

        record = self._folder.untrained()
        rows = () if record is None else record.rows
        numbers = [
            {key.removeprefix(TEST): value for key, value in row.numbers.items() if key.startswith(TEST)}
            for row in rows
        ]
        return pd.DataFrame(numbers, index=pd.Index([row.title for row in rows], name="way"))

    def findings(self) -> list[str]:
        """Return what these rows say of the run at its end, in sentences."""
        from trainers.retrieval.untrained.findings import findings

        return [finding.sentence for finding in findings(self._folder)]

    def runs(self) -> list[OpenedRun]:
        """Return the runs of a sweep that have begun, in its order; of a single run none."""
        from trainers.plans.children import Children

        if not kind_of(self._folder.config).plans:
            return []
        folders = [self._folder.beside(child.id) for child in Children(self._folder).all()]
        return [OpenedRun(folder) for folder in folders if folder.present]

    def labels(self) -> pd.DataFrame:
        """Return the class names of the images of the maps: a row an image, a column a level."""
        import pandas as pd

        probe = probe_of(self._folder)
        levels = zip(probe.hierarchy.levels, probe.hierarchy.names, probe.labels.T, strict=True)
        return pd.DataFrame({level: [names[label] for label in labels] for level, names, labels in levels})

    def steps(self) -> list[int]:
        """Return the steps at which embeddings are kept."""
        return [step for k, step, _ in self._folder.snapshots() if self._folder.embeddings_path(k).is_file()]

    def embeddings(self, step: int | None = None) -> dict[str, np.ndarray]:
        """Return the embeddings of the images of the maps by loss: float32 ``[P, D]``, unit rows up to the
        16 bits that are kept of a number.

        A loss whose training diverged is left out.

        Args:
            step: one of :meth:`steps`; None: the last.

        Raises:
            RunError: there are none of this step.
        """
        arms = probe_embeddings(self._folder, self._k(step))
        return {title: rows for title, rows in zip(self.losses, arms, strict=True) if rows is not None}

    def retrieved(self, query: int, count: int = 10, step: int | None = None) -> pd.DataFrame:
        """Return the nearest images of one image under every loss.

        Args:
            query: row of the image in :meth:`labels`.
            count: results of each loss.
            step: see :meth:`embeddings`.

        Returns:
            columns ``loss``, ``rank`` from 1, ``image`` (a row of :meth:`labels`) and ``shared``: at how many levels
            its classes are the query's; all: a right result, 0: the worst mistake.
        """
        import pandas as pd

        probe = probe_of(self._folder)
        if not 0 <= query < len(probe.labels):
            raise RunError(f"A query from 0 to {len(probe.labels) - 1} was needed; got {query}.")
        rows = []
        for title, found in zip(self.losses, probe_results(self._folder, self._k(step), count), strict=True):
            for rank, image in enumerate(() if found is None else found[query].tolist(), start=1):
                shared = int((probe.labels[image] == probe.labels[query]).sum())
                rows.append((title, rank, image, shared))
        return pd.DataFrame(rows, columns=["loss", "rank", "image", "shared"])

    def maps(self) -> dict[str, np.ndarray]:
        """Return the newest maps by loss: float32 ``[P, 2]``.

        Raises:
            RunError: none is drawn: the page draws them while it is open, whoever trains.
        """
        moments = moments_of(self._folder, 1)
        return dict(zip(self.losses, moments.xy[-1], strict=True))

    def picture(self, width: int = 1280, height: int = 720) -> bytes:
        """Return the newest maps as PNG; the first two principal components where no map is drawn yet."""
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(moments_of(self._folder, 1, components=True).drawn(width, height)).save(file, "PNG")
        return file.getvalue()

    def _k(self, step: int | None) -> int:
        if step is None:
            return newest_embeddings(self._folder)
        for k, at, _ in self._folder.snapshots():
            if at == step:
                return k
        raise RunError(f"A step of {self.steps()} was needed; got {step}.")

    def _repr_png_(self) -> bytes | None:
        """Return what a notebook shows; None where there is nothing to draw."""
        try:
            return self.picture()
        except RunError:
            return None

    def __repr__(self) -> str:
        """Say what it is in a line."""
        state = self._folder.state()
        return f"<run {self.id}: {', '.join(self.losses)}; {state.phase}, step {state.step:,}>"
