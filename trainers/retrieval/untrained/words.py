"""The rows without training in words and as plain values."""

from __future__ import annotations

from typing import Any

from trainers.config import DataChoice
from trainers.kinds import kind_of
from trainers.metrics.measures import TEST
from trainers.runs.reader import RunReader
from trainers.runs.untrained import Untrained

TITLE = "Without training"
BROUGHT = "brought"  # the kind of runs of embeddings that were made elsewhere
NO_IMAGES = "This run has no rows without training: its embeddings were brought without images."
NONE_YET = "This run has no rows without training yet."


def scored_on(record: Untrained) -> str:
    """Say what the rows are scored on."""
    if len(record.images) < record.total:
        return f"an even choice of {len(record.images):,} of {record.total:,} test images"
    return f"{record.total:,} test images"


def untrained_lines(folder: RunReader) -> list[str]:
    """Write a line per row of a run that has ended, as those of its losses."""
    record = folder.untrained()
    if record is None or not record.rows:
        return []
    config = folder.config
    measures = kind_of(config).measures_of(config)
    lines = [f"{TITLE}, {scored_on(record)}:"]
    width = max(20, *(len(row.title) for row in record.rows))
    for row in record.rows:
        keys = [key for key in measures.whole if f"{TEST}{key}" in row.numbers]
        numbers = "  ".join(f"{key} {row.numbers[TEST + key]:.3f}" for key in keys)
        lines.append(f"  {row.title:<{width}} {numbers}")
    return [*lines, *(f"  {name.capitalize():<{width}} {why}" for name, why in record.lacking.items())]


def without(folder: RunReader) -> str:
    """Say why a run has no rows; empty: runs of its kind have none."""
    config = folder.config
    if config.kind == BROUGHT:
        return NO_IMAGES
    return NONE_YET if isinstance(kind_of(config).images(config), DataChoice) else ""


def untrained_json(folder: RunReader) -> dict[str, Any]:
    """Return the rows and findings of a run as plain values.

    Raises:
        RunError: it is damaged.
    """
    from trainers.retrieval.untrained.findings import findings  # it imports what compares

    record = folder.untrained()
    if record is None:
        return {"rows": [], "lacking": [], "scored_on": "", "why": without(folder), "findings": []}
    return {
        "rows": [
            {"name": row.name, "title": row.title, "sentence": row.sentence, "numbers": dict(row.numbers)}
            for row in record.rows
        ],
        "lacking": [{"name": name, "why": why} for name, why in record.lacking.items()],
        "scored_on": scored_on(record),
        "why": "",
        "findings": [finding.json() for finding in findings(folder)],
    }
