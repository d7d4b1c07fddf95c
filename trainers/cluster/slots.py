"""Prints how many runs a cluster can train at once, in a process of its own: Ray stays out of this program."""

from __future__ import annotations

import sys

from trainers.cluster.address import connected
from trainers.errors import UserError


def main() -> int:
    """Print the number of GPUs, or of processors where there are none."""
    try:
        ray = connected()
    except UserError as error:
        print(error, file=sys.stderr)
        return 1
    there = ray.cluster_resources()
    print(int(there.get("GPU", 0) or there.get("CPU", 0)))
    ray.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
