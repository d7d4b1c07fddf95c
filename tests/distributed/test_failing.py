"""One process of several cannot be set up, or runs out of memory: all end, the run says why, and it goes on later."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.distributed.failing import MEMORY, REFUSED, STEP
from tests.distributed.processes import started
from tests.distributed.test_group import made
from trainers.runs import RunFolder

pytestmark = pytest.mark.long
SECONDS = 200.0


def trained(folder: RunFolder, world: int, fails: str = "") -> tuple[list[int | None], str]:
    """The exit statuses of the processes, all of which end by themselves, and what they print."""
    with started(world, ["-m", "tests.distributed.failing", str(folder.path)], {"FAILS": fails}) as processes:
        said = [process.communicate(timeout=SECONDS)[0] for process in processes]
        return [process.returncode for process in processes], "\n".join(said)


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize(("how", "sentence"), [("refuses", REFUSED), ("memory at set-up", MEMORY)])
def test_one_that_cannot_be_set_up_ends_all(tmp_path: Path, rank: int, how: str, sentence: str) -> None:
    folder = made(tmp_path)
    codes, said = trained(folder, 2, f"{rank}:{how}")
    state = folder.state()
    assert state.phase == "failed" and sentence in (state.error or ""), said
    assert ("Process 1" in (state.error or "")) == (rank == 1)
    assert codes[0] == 1 and min(code for code in codes if code is not None) >= 0
    assert state.step == 0 and not folder.has_checkpoint


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("how", ["memory in the encoder", "memory in the backward pass"])
def test_one_out_of_memory_ends_all_and_the_checkpoint_is_whole(tmp_path: Path, rank: int, how: str) -> None:
    folder = made(tmp_path)
    codes, said = trained(folder, 2, f"{rank}:{how}")
    state, checkpoint = folder.state(), folder.read_checkpoint()
    assert state.phase == "failed" and MEMORY in (state.error or ""), said
    assert f"The last good checkpoint is of step {STEP}." in (state.error or "")
    assert ("Process 1" in (state.error or "")) == (rank == 1)
    assert codes[0] == 1 and min(code for code in codes if code is not None) >= 0
    assert checkpoint is not None and checkpoint[1]["step"] == STEP
    codes, said = trained(RunFolder.open(folder.path.parent, folder.id), 2)
    assert codes == [0, 0] and folder.state().phase == "finished" and folder.state().step == 6, said
