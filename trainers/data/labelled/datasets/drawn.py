"""The drawn world: images of painted pots that never existed, for use without a network.

176 pots in 16 shapes on 4 shelves. 96 pots are for training and 80 others for testing; both fill every shape and shelf.
A pot is told by its glaze, motif and ink, which are dealt evenly over the shelves; shapes and shelves are told by the
silhouette. A loss that only separates pots may therefore ignore the silhouette; one that knows the hierarchy may not.

With a ``bias`` above 0, some training images of a pot stand in the pot's own room. The pots of a shape have different
rooms, so shape and room together tell a pot that is trained on; test images stand in rooms that tell nothing, and are
the same whatever the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from trainers.config import DataChoice
from trainers.data import cache
from trainers.data.base import ImageSet, LoadedData
from trainers.data.labelled import dataset_cache
from trainers.data.labelled.dataset_cache import hold_out_images
from trainers.data.labelled.descriptor import SourceDescriptor
from trainers.data.labelled.splits import divide_images
from trainers.data.synthetic import pottery
from trainers.data.synthetic.engine.digest import code_digest
from trainers.data.synthetic.engine.rng import Rng
from trainers.data.synthetic.pottery.background import WALL_NAMES, WALLS, make_background
from trainers.data.synthetic.pottery.classes import Pot, hierarchy, make_pots
from trainers.data.synthetic.pottery.scene import render, visible_part
from trainers.data.synthetic.pottery.silhouettes import Relief, relief
from trainers.errors import DataError
from trainers.parameters import parameter
from trainers.progress import Progress, part_of, silent

IMAGE_SIZE = 64
IMAGES_PER_TRAIN_POT, IMAGES_PER_TEST_POT = 24, 20
TILTS = (0.14, 0.2, 0.26, 0.32)
_SMALLEST, _LARGEST = 16, 256
_LICENCE = "CC0-1.0"
_POTTERY = Path(pottery.__file__).parent
BACKGROUND = "background"
"""The attribute of the images that says which wall they have; a room has one wall."""


Reliefs = dict[tuple[int, float], Relief]
"""Silhouettes as the camera sees them, by shape and tilt."""


@dataclass(frozen=True, kw_only=True)
class DrawnParameters:
    """See the module."""

    bias: float = parameter(
        0.0,
        low=0.0,
        high=1.0,
        title="Backgrounds tied to classes",
        help="Share of the training images of the drawn world that show the background of their class.",
    )


@dataclass(frozen=True, kw_only=True)
class Shot:
    """An image to draw: image ``number`` of a pot, in a room of its own (None) or in one of the tied rooms."""

    pot: Pot
    pot_id: int
    number: int
    room: int | None = None


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


def test_shots(choice: DataChoice) -> tuple[Shot, ...]:
    """Return what each test image of :func:`load` shows, in order.

    Raises:
        DataError: as :func:`load`.
    """
    train, test = _shots(choice)
    if choice.held_out == "classes":
        return test
    both = (*train, *test)
    trained = divide_images(np.array([shot.pot_id for shot in both]), choice.seed)
    return tuple(shot for shot, its in zip(both, trained.tolist(), strict=True) if not its)


def _shots(choice: DataChoice) -> tuple[tuple[Shot, ...], tuple[Shot, ...]]:
    """Return what the images of the train and of the test pots show, pot by pot."""
    bias = DESCRIPTOR.parameters_of(choice.source).bias
    kinds, shots, first = make_pots(choice.seed), [], 0
    for pots, most in zip(kinds, (IMAGES_PER_TRAIN_POT, IMAGES_PER_TEST_POT), strict=True):
        each = _each(most, len(pots), choice.max_images)
        shots.append(
            [Shot(pot=pot, pot_id=first + i, number=n) for i, pot in enumerate(pots) for n in range(each)],
        )
        first += len(pots)
    if not bias:
        return tuple(shots[0]), tuple(shots[1])
    tied = [np.ones(len(shots[0]), dtype=bool), np.zeros(len(shots[1]), dtype=bool)]
    if choice.held_out != "classes":
        divided = divide_images(np.array([shot.pot_id for part in shots for shot in part]), choice.seed)
        tied = np.split(divided, [len(shots[0])])
    rooms = home_rooms(first, choice.seed)
    train, test = (
        tuple(
            replace(shot, room=rooms[shot.pot_id]) if may and _is_tied(shot, choice.seed, bias) else shot
            for shot, may in zip(part, which.tolist(), strict=True)
        )
        for part, which in zip(shots, tied, strict=True)
    )
    return train, test


def home_rooms(pots: int, seed: int) -> list[int]:
    """Deal the pots their rooms in turn, so that neighbours in the list, such as the pots of a shape that are trained
    on, have different ones.
    """
    rng = Rng(seed, "rooms")
    return [room for _ in range(0, pots, len(WALLS)) for room in rng.shuffled(range(len(WALLS)))][:pots]


def _is_tied(shot: Shot, seed: int, bias: float) -> bool:
    """Return whether an image shows the room of its pot; what does at one bias does at every higher one."""
    return Rng(seed, "tied", shot.pot_id, shot.number).unit() < bias


def background_of(shot: Shot, seed: int) -> int:
    """Return which of :data:`WALL_NAMES` an image has."""
    if shot.room is not None:
        return shot.room
    rng = _stream(shot, seed)
    rng.pick(TILTS)
    return make_background(rng).number


def _drawn(choice: DataChoice, progress: Progress | None) -> LoadedData:
    """Draw both splits, of different pots."""
    size = _size(choice)
    train_pots, test_pots = make_pots(choice.seed)
    shots = _shots(choice)
    bias = DESCRIPTOR.parameters_of(choice.source).bias
    tied = (bias, choice.held_out) if bias else ()
    tell = progress or silent
    each_train, each_test = (len(part) // len(pots) for part, pots in zip(shots, (train_pots, test_pots), strict=True))
    key = cache.content_key(("drawn", drawing_code(), choice.seed, size, each_train, each_test, *tied))
    kept = dataset_cache.read(key, "drawn")
    if kept is not None:
        return kept
    share = len(shots[0]) / (len(shots[0]) + len(shots[1]))
    train = _draw(shots[0], size, choice.seed, part_of(tell, 0.0, share))
    test = _draw(shots[1], size, choice.seed, part_of(tell, share, 1.0))
    parts = {
        "train": replace(train, before_cap=len(train_pots) * IMAGES_PER_TRAIN_POT),
        "test": replace(test, before_cap=len(test_pots) * IMAGES_PER_TEST_POT),
    }
    tree = hierarchy(train_pots + test_pots)
    data = LoadedData(
        name="drawn",
        title=DESCRIPTOR.titled(choice.source),
        hierarchy=tree,
        train=parts["train"],
        test=parts["test"],
        fingerprint=dataset_cache.fingerprint(parts, tree),
        notes=(
            f"Drawn from seed {choice.seed}: {len(train_pots)} pots to train on, {len(test_pots)} others to test on.",
            *([f"{bias:.0%} of the training images show the background of their pot."] if bias else ()),
        ),
        licence=_LICENCE,
        attributes={BACKGROUND: WALL_NAMES},
    )
    dataset_cache.write(key, data)
    return data


def drawing_code() -> str:
    """Return the digest of the code that draws."""
    return code_digest(_POTTERY, Path(__file__))


def peek(choice: DataChoice, count: int) -> torch.Tensor:
    """Draw an image of each of ``count`` pots to train on, uint8 [count, 3, S, S].

    Raises:
        DataError: as :func:`load` about the image size.
    """
    size, (shots, _) = _size(choice), _shots(choice)
    first = [shot for shot in shots if shot.number == 0]
    chosen = np.linspace(0, len(first) - 1, count).astype(int)
    return torch.from_numpy(np.stack([draw_shot(first[index], size, choice.seed, {}) for index in chosen]))


def _size(choice: DataChoice) -> int:
    size = IMAGE_SIZE if choice.image_size is None else choice.image_size
    if not _SMALLEST <= size <= _LARGEST:
        raise DataError(f"The drawn world needs an image size from {_SMALLEST} to {_LARGEST}; got {size}.")
    return size


def _each(wanted: int, pots: int, most: int) -> int:
    """Return how many images there are per pot under the cap."""
    each = min(wanted, most // pots)
    if each < 2:
        raise DataError(
            f"The drawn world needs at least {2 * pots} images in a split, two for each of its {pots} pots; "
            f"the cap is {most}. Raise the cap."
        )
    return each


def _draw(shots: Sequence[Shot], size: int, seed: int, tell: Progress) -> ImageSet:
    """Render images pot by pot; an image depends on seed, pot, its number and its room alone."""
    images = np.empty((len(shots), 3, size, size), dtype=np.uint8)
    reliefs: Reliefs = {}
    for row, shot in enumerate(shots):
        if not shot.number:
            tell(f"Drawing pot {shot.pot_id + 1}", row / len(shots))
            reliefs = {key: kept for key, kept in reliefs.items() if key[0] == shot.pot.shape}
        images[row] = draw_shot(shot, size, seed, reliefs)
    labels = torch.tensor([(shot.pot_id, shot.pot.shape, shot.pot.shelf) for shot in shots])
    backgrounds = torch.tensor([background_of(shot, seed) for shot in shots])
    return ImageSet(images=torch.from_numpy(images), labels=labels, attributes={BACKGROUND: backgrounds})


def draw_shot(shot: Shot, size: int, seed: int, reliefs: Reliefs, *, empty: bool = False) -> NDArray[np.uint8]:
    """Draw one image, uint8 [3, size, size].

    Args:
        reliefs: keeps the maps of silhouettes already seen.
        empty: without the pot and its shadow.
    """
    seen, rng = _seen(shot, size, seed, reliefs)
    room = None if shot.room is None else (seed, shot.room)
    return render(shot.pot, seen, size, rng, room=room, empty=empty)


def pot_mask(shot: Shot, size: int, seed: int, reliefs: Reliefs) -> NDArray[np.bool_]:
    """Return the pixels in which some of the pot is seen, bool [size, size]: outside them its image is the same to the
    bit with the pot and without, but for the shadow.
    """
    seen, rng = _seen(shot, size, seed, reliefs)
    mask: NDArray[np.bool_] = visible_part(shot.pot, seen, size, rng) > 0
    return mask


def _seen(shot: Shot, size: int, seed: int, reliefs: Reliefs) -> tuple[Relief, Rng]:
    """Return the silhouette as the camera sees it, and the stream of what else is drawn."""
    rng = _stream(shot, seed)
    key = (shot.pot.shape, rng.pick(TILTS))
    if key not in reliefs:
        reliefs[key] = relief(shot.pot.silhouette, key[1], max(80, 9 * size // 4))
    return reliefs[key], rng


def _stream(shot: Shot, seed: int) -> Rng:
    return Rng(seed, "image", shot.pot_id, shot.number)


DESCRIPTOR = SourceDescriptor(
    name="drawn",
    title="Drawn world",
    sentence="Painted pots in 16 shapes on 4 shelves, drawn on the spot; needs no network.",
    licence=_LICENCE,
    load=load,
    peek=peek,
    parameters=DrawnParameters,
    order=1,
)
