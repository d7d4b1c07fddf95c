"""The probe of a dataset with labels: what its images are, beside their pixels."""

from __future__ import annotations

import hashlib

from torch import Tensor

from trainers.data.base import ImageSet, LoadedData
from trainers.runs import RunFolder
from trainers.runs.records import PARTS, Attribute
from trainers.training.thumbnails import write_probe

LABEL_NOISE, KEPT_OR_CHANGED = "label noise", ("kept", "changed")
"""The attribute that says whether a training image has a wrong label, and its values."""


def write_labelled_probe(folder: RunFolder, data: LoadedData, part: str, rows: Tensor) -> None:
    """Store images of a dataset as the probe of a run, with their labels as they were before label noise.

    Args:
        part: of the dataset, ``train`` or ``test``.
        rows: in it, int64 ``[P]``.
    """
    chosen: ImageSet = getattr(data, part)
    known = tuple(
        Attribute(name=name, names=names, values=chosen.attributes[name][rows].numpy())
        for name, names in data.attributes.items()
        if name in chosen.attributes
    )
    note = f"The maps show {PARTS[part]}; the numbers are of {PARTS['test']}."
    write_probe(
        folder,
        chosen.images[rows],
        labels=chosen.truth[rows].numpy(),
        rows=rows.numpy(),
        hierarchy=data.hierarchy,
        data_title=data.title,
        notes=data.notes if part == "test" else (*data.notes, note),
        attributes=(*known, *_noise(data, chosen, rows)),
        fingerprint=_fingerprint(data, part),
        part=part,
        files=tuple(chosen.names[row] for row in rows.tolist()) if chosen.names else (),
    )


def _noise(data: LoadedData, chosen: ImageSet, rows: Tensor) -> tuple[Attribute, ...]:
    """Return which images have a wrong label, and which; nothing where there is no label noise."""
    if chosen.true_labels is None:
        return ()
    given, true = chosen.labels[rows], chosen.truth[rows]
    changed = (given != true).any(dim=1).long()
    levels, names = data.hierarchy.levels, data.hierarchy.names
    return (
        Attribute(name=LABEL_NOISE, names=KEPT_OR_CHANGED, values=changed.numpy(), ringed=1),
        Attribute(name=f"given {levels[0]}", names=names[0], values=given[:, 0].numpy(), level=0),
    )


def _fingerprint(data: LoadedData, part: str) -> str:
    """Return a digest that is equal for two runs where the rows of a part are the same images."""
    if part == "test":
        return data.fingerprint
    return hashlib.blake2b(data.mark(part).encode(), digest_size=16).hexdigest()
