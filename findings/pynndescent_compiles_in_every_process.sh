#!/usr/bin/env bash
# pynndescent 0.7.0 keeps no compiled code of its search: every new process compiles it again.
#
# numba can keep what it compiles on disk, and a library of numba's that is installed once could be expected to be slow
# once. The first NNDescent of each process takes many times as long as the second one of the same size in the same
# process, also in the second process, which finds everything on disk that the first one left there. For a process that
# draws one map and ends, the compilation is most of the work.
#
# Seen with Python 3.11, numba 0.68.1 and numpy 2.4.6, 2,000 points of 16 numbers, processor seconds:
#   first process: 47.84 s for its first search, 0.04 s for its second
#   second process: 39.89 s for its first search, 0.06 s for its second
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet pynndescent==0.7.0 numba==0.68.1 numpy==2.4.6
cat >"$folder/first.py" <<'PY'
import time

import numpy as np
from pynndescent import NNDescent

rows = np.random.default_rng(0).normal(size=(2000, 16)).astype(np.float32)
seconds = []
for _ in range(2):
    begun = time.process_time()
    NNDescent(rows, metric="cosine", n_neighbors=15, random_state=0, n_jobs=1).neighbor_graph
    seconds.append(time.process_time() - begun)
print(f"{seconds[0]:.2f} {seconds[1]:.2f}")
PY
export NUMBA_CACHE_DIR="$folder/kept"
for process in first second; do
  read -r new known < <("$folder/venv/bin/python" "$folder/first.py")
  echo "$process process: $new s for its first search, $known s for its second"
done
python3 -c "import sys; sys.exit(not float('$new') > 5 * float('$known'))" || {
  echo "changed: the second process finds compiled code"
  exit 1
}
