"""A plan with what trains its runs and reports on them; the modules for both know plans by their descriptor alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from trainers.plans.base import Plan
from trainers.plans.config import S

if TYPE_CHECKING:
    from trainers.runs import RunFolder
    from trainers.training.trainer import Trainer


class RunnablePlan(Plan[S]):
    """See :class:`trainers.plans.base.Plan`. The modules that train and report are imported when they are needed."""

    def loop(self) -> type[Trainer]:
        from trainers.plans.runner import PlanRunner

        return PlanRunner

    def result(self, config: S, folder: RunFolder) -> str:
        """Write the tables and the verdicts, in Markdown."""
        from trainers.plans.report import report

        return report(folder).markdown()

    def parts_of(self, folder: RunFolder) -> Iterator[RunFolder]:
        """Return the runs of the plan, which lie beside it."""
        from trainers.plans.children import children_of

        return children_of(folder)
