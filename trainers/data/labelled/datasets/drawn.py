"""The drawn world: images of painted pots that never existed, for use without a network.

176 pots in 16 shapes on 4 shelves. 96 pots are for training and 80 others for testing; both fill every shape and shelf.
A pot is told by its glaze, motif and ink, which are dealt evenly over the shelves; shapes and shelves are told by the
silhouette. A loss that only separates pots may therefore ignore the silhouette; one that knows the hierarchy may not.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from trainers.config import DataChoice
from trainers.data import cache
from trainers.data.base import ImageSet, LoadedData, Progress, part_of, silent
from trainers.data.labelled import stored
from trainers.data.labelled.descriptor import SourceDescriptor
from trainers.data.labelled.held_out import hold_out_images
from trainers.data.synthetic import pottery
from trainers.data.synthetic.engine.digest import code_digest
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.classes import Pot, hierarchy, make_pots
from trainers.data.synthetic.pottery.scene import render
from trainers.data.synthetic.pottery.silhouettes import Relief, relief
from trainers.errors import DataError

IMAGE_SIZE = 64
IMAGES_PER_TRAIN_POT, IMAGES_PER_TEST_POT = 24, 20
TILTS = (0.14, 0.2, 0.26, 0.32)
_SMALLEST, _LARGEST = 16, 256
_LICENCE = "CC0-1.0"
_POTTERY = Path(pottery.__file__).parent


def load(choice: DataChoice, progress: Progress | None = None) -> LoadedData:
    """Draw both splits for ``choice.seed``; with images held out, both are divided again, pot by pot.

    Args:
        choice: ``seed``, ``image_size`` (64 if None) and ``max_images`` per split count; the columns do not.
        progress: called now and then with a sentence and the fraction done.

    Returns:
        Images uint8 [N, 3, S, S] and labels int64 [N, 3] (pot, shape, shelf); train has 2,304 images and test 1,600
        unless ``max_images`` is smaller, in which case every pot has fewer.

    Raises:
        DataError: the image size is outside 16 to 256, or ``max_images`` leaves fewer than two images to a pot.
    """
    data = _drawn(choice, progress)
    return data if choice.held_out == "classes" else hold_out_images(data, choice.seed)


def _drawn(choice: DataChoice, progress: Progress | None) -> LoadedData:
    """Both splits, of different pots."""
    size = _size(choice)
    train_pots, test_pots = make_pots(choice.seed)
    each_train = _each(IMAGES_PER_TRAIN_POT, len(train_pots), choice.max_images)
    each_test = _each(IMAGES_PER_TEST_POT, len(test_pots), choice.max_images)
    tell = progress or silent
    key = cache.content_key(("drawn", code_digest(_POTTERY, Path(__file__)), choice.seed, size, each_train, each_test))
    kept = stored.read(key, "drawn")
    if kept is not None:
        return kept
    drawn_for_training = len(train_pots) * each_train
    share = drawn_for_training / (drawn_for_training + len(test_pots) * each_test)
    train = _draw(train_pots, 0, each_train, size, choice.seed, part_of(tell, 0.0, share))
    test = _draw(test_pots, len(train_pots), each_test, size, choice.seed, part_of(tell, share, 1.0))
    parts = {
        "train": replace(train, before_cap=len(train_pots) * IMAGES_PER_TRAIN_POT),
        "test": replace(test, before_cap=len(test_pots) * IMAGES_PER_TEST_POT),
    }
    tree = hierarchy(train_pots + test_pots)
    data = LoadedData(
        name="drawn",
        title=DESCRIPTOR.title,
        hierarchy=tree,
        **parts,
        fingerprint=stored.fingerprint(parts, tree),
        notes=(
            f"Drawn from seed {choice.seed}: {len(train_pots)} pots to train on, {len(test_pots)} others to test on.",
        ),
        licence=_LICENCE,
    )
    stored.write(key, data)
    return data


def peek(choice: DataChoice, count: int) -> torch.Tensor:
    """An image of each of ``count`` pots to train on, uint8 [count, 3, S, S].

    Raises:
        DataError: as :func:`load` about the image size.
    """
    size, pots = _size(choice), make_pots(choice.seed)[0]
    chosen = np.linspace(0, len(pots) - 1, count).astype(int)
    return torch.from_numpy(np.stack([draw_one(pots[pot], int(pot), 0, size, choice.seed, {}) for pot in chosen]))


def _size(choice: DataChoice) -> int:
    size = IMAGE_SIZE if choice.image_size is None else choice.image_size
    if not _SMALLEST <= size <= _LARGEST:
        raise DataError(f"The drawn world needs an image size from {_SMALLEST} to {_LARGEST}; got {size}.")
    return size


def _each(wanted: int, pots: int, most: int) -> int:
    """Images per pot under the cap."""
    each = min(wanted, most // pots)
    if each < 2:
        raise DataError(
            f"The drawn world needs at least {2 * pots} images in a split, two for each of its {pots} pots; "
            f"the cap is {most}. Raise the cap."
        )
    return each


def _draw(pots: tuple[Pot, ...], first_id: int, each: int, size: int, seed: int, tell: Progress) -> ImageSet:
    """Render ``each`` images of every pot, pot by pot; an image depends on seed, pot and its number alone."""
    images = np.empty((len(pots), each, 3, size, size), dtype=np.uint8)
    labels = np.empty((len(pots), each, 3), dtype=np.int64)
    reliefs: dict[tuple[int, float], Relief] = {}
    for index, pot in enumerate(pots):
        tell(f"Drawing pot {index + 1} of {len(pots)}", index / len(pots))
        reliefs = {key: kept for key, kept in reliefs.items() if key[0] == pot.shape}
        for number in range(each):
            images[index, number] = draw_one(pot, first_id + index, number, size, seed, reliefs)
        labels[index] = (first_id + index, pot.shape, pot.shelf)
    flat = torch.from_numpy(images.reshape(-1, 3, size, size))
    return ImageSet(images=flat, labels=torch.from_numpy(labels.reshape(-1, 3)))


def draw_one(
    pot: Pot, pot_id: int, number: int, size: int, seed: int, reliefs: dict[tuple[int, float], Relief]
) -> NDArray[np.uint8]:
    """One image, uint8 [3, size, size]; ``reliefs`` keeps the maps of silhouettes already seen."""
    rng = Rng(seed, "image", pot_id, number)
    key = (pot.shape, rng.pick(TILTS))
    if key not in reliefs:
        reliefs[key] = relief(pot.silhouette, key[1], max(80, 9 * size // 4))
    return render(pot, reliefs[key], size, rng)


DESCRIPTOR = SourceDescriptor(
    name="drawn",
    title="Drawn world",
    sentence="Painted pots in 16 shapes on 4 shelves, drawn on the spot; needs no network.",
    licence=_LICENCE,
    load=load,
    peek=peek,
    order=0,
)
