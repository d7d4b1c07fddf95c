"""Which process of how many this one is."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from trainers.cli.main import whole_parser
from trainers.distributed import gather, group
from trainers.distributed.launch import Launch, alone, launched
from trainers.errors import UserError
from trainers.training.augmentations import AUGMENTATIONS
from trainers.training.executor import program_environment

TORCHRUN = {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "node1", "MASTER_PORT": "29500"}
SRUN = {"SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": "3", "SLURM_STEP_NODELIST": "node1"}


def test_torchrun_and_accelerate() -> None:
    launch = launched(TORCHRUN)
    assert launch == Launch(rank=5, world=8, local=1, address="node1", port=29500)
    assert launch is not None and launch.leader == 4


def test_srun() -> None:
    launch = launched({**SRUN, "SLURM_JOB_ID": "77", "SLURM_STEP_ID": "0"})
    assert launch is not None and (launch.rank, launch.world, launch.address) == (3, 4, "127.0.0.1")
    assert launched({**SRUN, "MASTER_ADDR": "node0", "MASTER_PORT": "1"}) == Launch(
        rank=3, world=4, local=3, address="node0", port=1
    )


@pytest.mark.parametrize("environment", [{}, {"WORLD_SIZE": "1"}, {"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}])
def test_one_process_trains_alone(environment: dict[str, str]) -> None:
    """The last one is a batch script of Slurm, which runs once however many tasks srun would start."""
    assert launched(environment) is None


@pytest.mark.parametrize(("count", "world"), [(8, 2), (9, 3), (9, 2), (2, 4), (7, 1)])
def test_rows_are_shared_evenly_or_not_at_all(count: int, world: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows, batches, evaluated = torch.arange(count), [], []
    for rank in range(world):
        for module in (group, gather):
            monkeypatch.setattr(module, "world", lambda: world)
            monkeypatch.setattr(module, "rank", lambda rank=rank: rank)
        evaluated.append(gather.spread(rows))
        if count % world:
            with pytest.raises(UserError, match=f"shared by {world} processes, which must divide it; got {count}"):
                group.share(count)
        else:
            batches.append(rows[group.share(count)])
    for parts in filter(None, (batches, evaluated)):  # of images that are evaluated the last ones again
        assert torch.equal(torch.stack(parts, dim=1).flatten()[:count], rows)


ALONE = (["sweep", "--losses", "supcon"], ["fair", "--losses", "supcon"], ["finetune"])


@pytest.mark.parametrize("words", ALONE, ids=lambda words: words[0])
def test_what_is_not_shared_is_refused_before_anything_is_made(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    arguments = whole_parser().parse_args([*words, "--runs", str(tmp_path / "runs")])
    with pytest.raises(UserError, match=r"not shared by several processes, and 8 were started\. Start it in one"):
        arguments.run(arguments)
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("told", [TORCHRUN, {**SRUN, "SLURM_STEP_ID": "0"}])
def test_the_runs_of_a_sweep_inherit_nothing_of_a_launcher(
    told: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**told, "TORCHELASTIC_USE_AGENT_STORE": "True", "SLURM_JOB_ID": "7"}.items():
        monkeypatch.setenv(name, value)
    assert launched() is not None and launched(program_environment()) is None
    left = alone({**told, "TORCHELASTIC_USE_AGENT_STORE": "True", "SLURM_JOB_ID": "7", "RANKSCOPE_RUNS": "runs"})
    assert set(left) == {"SLURM_JOB_ID", "RANKSCOPE_RUNS"}


def test_what_is_missing_is_named() -> None:
    with pytest.raises(UserError, match="MASTER_ADDR"):
        launched({name: value for name, value in TORCHRUN.items() if name != "MASTER_ADDR"})


@pytest.mark.parametrize("name", list(AUGMENTATIONS))
def test_part_of_a_batch_is_changed_as_in_the_whole(name: str) -> None:
    """Even by ``light``, whose numbers depend on how many images there are."""
    images = torch.randint(0, 256, (6, 3, 16, 16), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    augment = AUGMENTATIONS[name].build({}, channels=3)
    expected = augment(images, seed=1, step=2, view=0)
    for rank in range(3):
        rows = slice(rank, None, 3)
        part = augment(images[rows], seed=1, step=2, view=0, count=6, rows=rows)
        torch.testing.assert_close(part, expected[rows], rtol=0, atol=0)
