"""Memory and time of a step in chunks, as shares of the whole batch: python -m tests.benchmarks.chunks [--images 64]

Each way takes its steps in a process of its own. Memory is what a step adds to the process, at its highest; time is
processor time, the median of the steps. What is left of the memory with ever smaller chunks is one chunk's activations,
the embeddings, weights and their gradients.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time

import torch

from tests.campaigns._table import markdown
from trainers.encoders import ENCODERS
from trainers.losses import LOSSES
from trainers.parameters import parse_choice
from trainers.training.gradient_caching import chunks, encode_in_chunks

ENCODERS_TRIED = (
    "timm:model=resnet18,pretrained=false",
    "timm:model=vit_tiny_patch16_224,pretrained=false",
    "conv4",
)
SIDE, DIM, STEPS = 224, 64, 3
EACH = 4
"""Images of a class."""


def measured(encoder: str, images: int, chunk: int, loss: str) -> dict[str, float]:
    """Take :data:`STEPS` steps in this process: megabytes that they added at the highest, and seconds of one."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    name, parameters = parse_choice(encoder, ENCODERS)
    net = ENCODERS[name].build(channels=3, side=SIDE, dim=DIM, parameters=parameters).train()
    encode_in_chunks(net, chunk)
    labels = torch.arange(images) // EACH
    module = LOSSES[loss].build(num_classes=-(-images // EACH), dim=DIM, class_labels=labels[::EACH, None])
    batch = torch.rand(images, 3, SIDE, SIDE).contiguous(memory_format=torch.channels_last)
    net(batch[:2])  # what the libraries load, and the weights' gradients, are no part of a step
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    seconds = []
    for _ in range(STEPS):
        net.zero_grad(set_to_none=True)
        started = time.process_time()
        module(net(batch), labels).backward()
        seconds.append(time.process_time() - started)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"megabytes": (after - before) / 1024, "seconds": statistics.median(seconds)}


def apart(*arguments: str) -> dict[str, float]:
    """Measure in another process."""
    command = [sys.executable, "-m", "tests.benchmarks.chunks", "--measure", *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--encoders", nargs="+", default=ENCODERS_TRIED)
    parser.add_argument("--images", type=int, default=64)
    parser.add_argument("--loss", default="smooth_ap")
    parser.add_argument("--measure", nargs=4, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.measure:
        encoder, images, chunk, loss = asked.measure
        print(json.dumps(measured(encoder, int(images), int(chunk), loss)))
        return
    rows = []
    for encoder in asked.encoders:
        whole = apart(encoder, str(asked.images), "0", asked.loss)
        for chunk in (asked.images // 2, asked.images // 4, asked.images // 8):
            cut = apart(encoder, str(asked.images), str(chunk), asked.loss)
            memory, spent = (cut[key] / whole[key] for key in ("megabytes", "seconds"))
            rows.append([encoder, f"{chunks(asked.images, chunk)} of {chunk}", f"{memory:.2f}", f"{spent:.2f}"])
    print(f"{asked.images} images of {SIDE} pixels, {asked.loss}, one thread; shares of the whole batch\n")
    print(markdown(["encoder", "chunks", "memory", "time"], rows))


if __name__ == "__main__":
    main()
