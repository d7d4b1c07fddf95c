"""Describes a dataset as HTML, for the line under the field where it was named."""

from __future__ import annotations

import html

from trainers.config import DataChoice
from trainers.data import SOURCES, DataReport, named

THEN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


def about(source: str) -> str:
    """Return HTML for a dataset of the catalogue, before it is read."""
    descriptor = SOURCES[source]
    return paragraph(f"{descriptor.sentence}{_licence(descriptor.licence)}")


def reported(report: DataReport, source: str, unlabelled: str = "") -> str:
    """Write a report as HTML: the label tree, the columns and splits that would be used, or the problems.

    Args:
        unlabelled: what else is said of images without classes.
    """
    if report.problems:
        return "".join(paragraph(problem, "rs-alert", "alert") for problem in report.problems)
    entry = named(source)
    lines = [f"{report.title}." if entry is None else entry.sentence]
    if report.proposal is not None and report.proposal.label_columns:
        lines.append(_tree(report))
        lines.append(_reading(report, report.proposal))
    lines += [note for note in report.notes if note not in lines]
    if report.unlabelled:
        lines.append(unlabelled)
    return "".join(paragraph(line) for line in lines if line)


def _tree(report: DataReport) -> str:
    """Write the levels with their numbers of classes, finest first: ``81 › 43 › 3, product › kind › aisle``."""
    assert report.proposal is not None
    chosen = report.proposal.label_columns or ()
    classes = {column.name: column.classes for column in report.labels}
    counts = THEN.join(f"{classes[name]:,}" for name in chosen if name in classes)
    of = "classes in the first rows: " if report.sampled else "classes: "
    return f"{of.capitalize()}{counts} ({THEN.join(chosen)})."


def failed(sentence: str) -> str:
    """Write an error as HTML, announced by screen readers."""
    return paragraph(sentence, "rs-alert", "alert")


def paragraph(text: str, kind: str = "rs-sentence", role: str | None = None) -> str:
    """Write a paragraph of plain text as HTML; it is escaped, since column names and titles are untrusted."""
    return f'<p class="{kind}"{f" role={role}" if role else ""}>{html.escape(text)}</p>'


def _reading(report: DataReport, choice: DataChoice) -> str:
    rows = [f"{name} ({size:,})" if size else name for name, size in report.splits.items()]
    splits = " and ".join(name for name in (choice.train_split, choice.test_split) if name)
    images = f"Images from {choice.image_column}" if choice.image_column else "Images"
    used = f"{images}, splits {splits}" if choice.test_split else f"{images}, split {splits}"
    of = f"; there are {', '.join(rows)}" if len(rows) > 2 else ""
    return f"{used}{of}.{_licence(report.licence)}"


def _licence(licence: str) -> str:
    return f" Licence: {licence}." if licence and licence not in ("unknown", "see its card") else ""
