"""Prints what :mod:`trainers.cluster.questions` asks of a cluster: ``python -m trainers.cluster.answers``."""

from __future__ import annotations

import json
import sys

from trainers.cluster.actors import actor_of
from trainers.cluster.address import connected
from trainers.errors import UserError


def main(argv: list[str]) -> int:
    """Print the number of GPUs, or of processors where there are none; with the id of a run, whether there is its
    actor.
    """
    try:
        ray = connected()
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    there = ray.cluster_resources()
    answer = actor_of(ray, argv[0]) is not None if argv else int(there.get("GPU", 0) or there.get("CPU", 0))
    print(json.dumps(answer))
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
