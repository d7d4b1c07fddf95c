"""The names of a run in words: titles, summaries."""

from __future__ import annotations

import math

from explorer.server.queue import Wait
from explorer.server.run import Run
from trainers.data.labelled.rows import UNREADABLE
from trainers.kinds import kind_of


def data_title(run: Run) -> str:
    """Name the images: as read, or as asked for while they are not read yet."""
    return run.probe.data_title if run.probe is not None else kind_of(run.config).data_title(run.config)


def run_title(run: Run) -> str:
    """Write ``Smooth-AP vs HAPPIER on Drawn world``, or as its kind words it; first its place in its plan, if any."""
    title, in_plan = kind_of(run.config).run_title(run.config, data_title(run)), run.folder.place_in_plan
    return f"{in_plan[:1].upper()}{in_plan[1:]}: {title}" if in_plan else title


def summary(run: Run) -> str:
    """Write one line: images, what is special to the kind, budget, seed; then which images could not be read."""
    notes = [] if run.probe is None else [note for note in run.probe.notes if UNREADABLE in note]
    return ". ".join([kind_of(run.config).summary(run.config, data_title(run)), *notes])


def waiting(wait: Wait | None) -> str:
    """Say how long a run waits for its turn; empty if it need not wait."""
    if wait is None or wait.minutes == 0:
        return ""
    time = "for how long is not known" if wait.minutes is None else f"about {math.ceil(wait.minutes)} min"
    return f"It is number {wait.position} in the queue, {time}. The page may be closed meanwhile."


def work(count: int, minutes: float | None, *, at_most: bool = False) -> str:
    """Say how many runs a plan has and how long they take together, as far as that is known; ``at_most``: or less."""
    runs = "1 run" if count == 1 else f"{count:,} runs"
    if minutes is None:
        return f"{runs}; how long they take is not known, because their budget is not in minutes."
    hours, rest = divmod(max(1, math.ceil(minutes)), 60)
    time = " ".join([*([f"{hours} h"] if hours else []), *([f"{rest} min"] if rest or not hours else [])])
    return f"{runs}, {'at most' if at_most else 'about'} {time} in all."
