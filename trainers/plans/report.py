"""What a plan has found so far."""

from __future__ import annotations

from trainers.plans.children import Children
from trainers.runs import RunFolder


class Report:
    def __init__(self, children):
        self.children = children

    def markdown(self) -> str:
        return "\n".join(f"{c.planned.title}: {c.outcome}" for c in self.children)


def report(folder: RunFolder) -> Report:
    return Report(Children(folder).all())
