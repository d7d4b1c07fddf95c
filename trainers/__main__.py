"""``python -m trainers``: the same training without a browser, writing the same run folder."""

from __future__ import annotations

import os
import sys

# before torch: with two busy cores, spinning OpenMP threads cost more than the work
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


def run(argv: list[str]) -> int:
    """Run a command; returns the exit status."""
    try:
        from trainers.cli.main import main  # takes a second, which may be interrupted too

        status = main(argv)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader, such as `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:  # while nothing trains; a trainer saves and ends by itself
        print("\nrankscope: interrupted.", file=sys.stderr)
        return 130
    return status


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
