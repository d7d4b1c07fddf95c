"""What augmentation costs: python -m tests.benchmarks.augmentations [--sides 32 224] [--images 256] [--device cpu]

Milliseconds for a batch, median of several, beside torchvision's transforms of the same recipe on each image (uint8
tensors on one core, as a data loader's worker would run them), and the ratio of the two. On the CPU both are timed in
processor time on one thread, which other work on the machine disturbs least.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torchvision.transforms import v2

from trainers.training.augmentations import AUGMENTATIONS
from trainers.training.augmentations._operations import SIGMAS, radius

REPEATS = 5
_FLOAT = v2.ToDtype(torch.float32, scale=True)


def _crop(side: int, smallest: float) -> list[Callable[[Tensor], Tensor]]:
    return [v2.RandomResizedCrop(side, scale=(smallest, 1.0), antialias=True)]


def _blur(side: int) -> Callable[[Tensor], Tensor]:
    return v2.RandomApply([v2.GaussianBlur(2 * radius(side) + 1, SIGMAS)], 0.5)


def peers(side: int) -> dict[str, Callable[[Tensor], Tensor]]:
    """torchvision's transforms for one uint8 image ``[3, H, W]``, by the name of the recipe that they stand for."""
    mirror, grey = v2.RandomHorizontalFlip(), v2.RandomGrayscale(0.2)
    steps = {
        "none": [_FLOAT],
        "crop_flip": [*_crop(side, 0.2), mirror, _FLOAT],
        "moco_v1": [*_crop(side, 0.2), grey, v2.ColorJitter(0.4, 0.4, 0.4, 0.4), mirror, _FLOAT],
        "moco_v2": [
            *_crop(side, 0.2),
            v2.RandomApply([v2.ColorJitter(0.4, 0.4, 0.4, 0.1)], 0.8),
            grey,
            _blur(side),
            mirror,
            _FLOAT,
        ],
        "simclr": [
            *_crop(side, 0.08),
            mirror,
            v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8),
            grey,
            _blur(side),
            _FLOAT,
        ],
        "randaugment": [*_crop(side, 0.2), mirror, v2.RandAugment(), _FLOAT],
        "autoaugment": [*_crop(side, 0.2), mirror, v2.AutoAugment(), _FLOAT],
        "light": [
            v2.RandomAffine(8.0, (0.08, 0.08), (0.88, 1.12), interpolation=v2.InterpolationMode.BILINEAR),
            v2.ColorJitter(0.15, 0.15),
            mirror,
            _FLOAT,
        ],
    }
    return {name: v2.Compose(transforms) for name, transforms in steps.items()}


def milliseconds(work: Callable[[int], object], device: torch.device) -> float:
    """Median over :data:`REPEATS` batches, after one that is not counted."""
    clock = time.process_time if device.type == "cpu" else time.perf_counter
    spent = []
    for number in range(REPEATS + 1):
        started = clock()
        work(number)
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        spent.append(1000 * (clock() - started))
    return statistics.median(spent[1:])


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sides", type=int, nargs="+", default=[32, 224])
    parser.add_argument("--images", type=int, default=256)
    parser.add_argument("--names", nargs="+", default=list(AUGMENTATIONS), choices=list(AUGMENTATIONS))
    parser.add_argument("--device", type=torch.device, default=torch.device("cpu"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"ms per {given.images} images on {given.device}; torchvision image by image on the CPU")
    print("| augmentation | side | ms | torchvision, ms | ratio |\n|---|---|---|---|---|")
    for side in given.sides:
        host = torch.randint(0, 256, (given.images, 3, side, side), dtype=torch.uint8)
        images, others = host.to(given.device), peers(side)
        for name in given.names:
            augment = AUGMENTATIONS[name].build({}, 3)
            own = milliseconds(
                lambda step, augment=augment, images=images: augment(images, seed=0, step=step, view=0), given.device
            )
            peer = others[name]
            theirs = milliseconds(
                lambda _, peer=peer, host=host: torch.stack([peer(image) for image in host]), torch.device("cpu")
            )
            print(f"| {name} | {side} | {own:.0f} | {theirs:.0f} | {own / theirs:.2f} |", flush=True)


if __name__ == "__main__":
    main()
