"""Divides a dataset anew, so that the test images are of the classes that are trained on."""

from __future__ import annotations

import dataclasses

import torch

from trainers.data.base import ROLE, ImageSet, LoadedData
from trainers.data.labelled import stored
from trainers.data.labelled.splits import divide_images


def hold_out_images(data: LoadedData, seed: int) -> LoadedData:
    """Divide the images of both splits together: of every class four to train on for one to test on.

    Args:
        data: in memory.
        seed: of the division.
    """
    images, labels = (torch.cat([getattr(data.train, name), getattr(data.test, name)]) for name in ("images", "labels"))
    side = torch.from_numpy(divide_images(labels[:, 0].numpy(), seed))
    both = data.train.attributes, data.test.attributes
    known = {name: torch.cat([of[name] for of in both]) for name in data.attributes if all(name in of for of in both)}
    known.pop(ROLE, None)  # queries and gallery are of the division that is undone
    files = data.train.names + data.test.names
    several = len(files) == len(labels)
    parts = {
        name: ImageSet(
            images=images[rows],
            labels=labels[rows],
            before_cap=int(rows.sum()),
            attributes={name: values[rows] for name, values in known.items()},
            names=tuple(files[row] for row in rows.nonzero()[:, 0].tolist()) if several else (),
        )
        for name, rows in (("train", side), ("test", ~side))
    }
    note = f"Of every class, a fifth of the images is tested on, chosen by seed {seed}."
    fingerprint = stored.fingerprint(parts, data.hierarchy)
    notes = (*data.notes[1:], note)
    names = {name: data.attributes[name] for name in known}
    return dataclasses.replace(
        data, train=parts["train"], test=parts["test"], notes=notes, fingerprint=fingerprint, attributes=names
    )
