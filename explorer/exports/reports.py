"""The findings of a plan as files: tables, verdicts, plain values."""

from __future__ import annotations

import json
from pathlib import Path

from explorer.server.run import Run
from trainers.errors import RunError
from trainers.plans.report import report


def write_report(run: Run, path: Path, form: str) -> None:
    """Write the report of a plan as one of csv, markdown, latex, json and archive: the methods of its report.

    Raises:
        RunError: none of its runs has finished.
    """
    plan_report = report(run.folder)
    if all(part.table is None for part in plan_report.parts):
        raise RunError(f"The comparison {run.id} has no result yet; download it when one of its runs has finished.")
    made = getattr(plan_report, form)()
    if form == "json":
        made = json.dumps(made, ensure_ascii=False, allow_nan=False, indent=1)
    path.write_bytes(made if isinstance(made, bytes) else made.encode("utf-8", "replace"))
