"""What is in a dataset that somebody names in the form, in JSON."""

from __future__ import annotations

from explorer.page.form.fields import Json
from explorer.page.form.views import address
from trainers.cells import counted
from trainers.config import DataChoice
from trainers.data import DataReport, inspect_data, named
from trainers.data.labelled.report import Sample
from trainers.data.labelled.table import IMAGE_NAMES
from trainers.errors import UserError

THEN = " \N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK} "


def looked_at(choice: DataChoice) -> Json:
    """Look at a dataset: what is read from where, in sentences, and what can be chosen; or the problems."""
    try:
        report = inspect_data(choice)
    except UserError as error:
        return {"problems": [str(error)]}
    return {
        "problems": list(report.problems),
        "said": list(report.notes) if report.problems else _sentences(report, choice.source),
        "unlabelled": report.unlabelled,
        "levels": list(report.levels),
        "read_as": list(report.read_as) if named(choice.source) is None else [],
        "classes": [list(row) for row in report.classes],
        "images": [] if report.sampled else list(report.images),
        "dropped": [list(row) for row in report.dropped],
        "more": report.counts[0] - len(report.classes) if report.counts else 0,
        "readable": named(choice.source) is None or bool(report.labels),
        "columns": {
            "image_column": [[name, name] for name in report.image_columns],
            "label_columns": [
                [column.name, f"{column.name} ({column.classes:,})"] for column in report.labels if column.usable
            ],
            "train_split": [[name, name] for name in report.splits],
            "test_split": [[name, name] for name in report.splits],
        },
        "detected": _detected(report),
        "samples": [] if named(choice.source) else [_shown(sample) for sample in report.samples],
    }


def _shown(sample: Sample) -> Json:
    images = [[address(image), file] for image, file in zip(sample.images, sample.files, strict=True)]
    return {"names": list(sample.names), "images": images}


def _detected(report: DataReport) -> Json:
    used = report.proposal
    if used is None:
        return {}
    return {
        "image_column": used.image_column,
        "label_columns": list(used.label_columns or ()),
        "train_split": used.train_split,
        "test_split": used.test_split,
    }


def _sentences(report: DataReport, source: str) -> list[str]:
    entry = named(source)
    lines = [f"{report.title}." if entry is None else entry.sentence]
    if report.proposal is not None and report.levels:
        lines += [_tree(report), *filter(None, [_reading(report, report.proposal), report.unreadable])]
    elif entry is not None:
        lines = [f"{entry.sentence}{_licence(entry.licence)}"]
    return [*lines, *(note for note in report.notes if note not in lines)]


def _tree(report: DataReport) -> str:
    """Write the levels with their numbers of classes, coarsest first: ``3 › 43 › 81 (aisle › kind › product)``."""
    of = "Classes in the first rows: " if report.sampled else "Classes: "
    return f"{of}{THEN.join(f'{count:,}' for count in reversed(report.counts))} ({THEN.join(reversed(report.levels))})."


def _reading(report: DataReport, choice: DataChoice) -> str:
    def sized(name: str) -> str:
        size = report.splits.get(name)
        return f"{name} ({size:,})" if size else name

    size = next(iter(report.splits.values())) if len(report.splits) == 1 else None
    if size and choice.image_column in (None, *IMAGE_NAMES):
        return f"{counted(size, 'image')}.{_licence(report.licence)}"
    images = f"Images from column {choice.image_column}" if choice.image_column else "Images"
    splits = [sized(name) for name in (choice.train_split, choice.test_split) if name]
    used = f"{images}, {'splits' if len(splits) > 1 else 'split'} {' and '.join(splits)}"
    of = f"; there are {', '.join(map(sized, report.splits))}" if len(report.splits) > 2 else ""
    return f"{used}{of}.{_licence(report.licence)}"


def _licence(licence: str) -> str:
    return f" Licence: {licence}." if licence and licence not in ("unknown", "see its card") else ""
