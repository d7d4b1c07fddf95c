"""The examples of the documentation train and are runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from trainers.runs import RunFolder, list_runs

DOCS = Path(__file__).parents[2] / "docs" / "own-loops.md"
CODES = {
    re.findall(r"^#+ (.*)$", before, re.MULTILINE)[-1]: code
    for before, code in re.findall(r"(.*?)```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    if "log_run" in code
}
"""The examples by the headings above them."""
LABELS = [number % 4 for number in range(32)]
IMAGES = torch.rand(32, 3, 8, 8, generator=torch.Generator().manual_seed(0))


class Model(nn.Module):
    """What both callbacks are given: images in, embeddings out, and a loss."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(3 * 8 * 8, 8)

    def embed(self, images: Tensor) -> Tensor:
        return self.layer(images.flatten(1))

    def forward(self, images: Tensor, labels: Tensor) -> dict[str, Tensor]:
        return {"loss": self.embed(images).pow(2).mean()}


def executed(heading: str) -> dict[str, object]:
    """Execute an example, and return its names."""
    assert len(CODES[heading].splitlines()) <= 30
    names: dict[str, object] = {"__name__": "example"}
    exec(compile(CODES[heading], f"{DOCS}: {heading}", "exec"), names)
    return names


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def whole(place: Path) -> RunFolder:
    """The only run, which has ended with numbers of all images and a curve."""
    (run,) = list_runs(place / "runs")
    assert run.state().phase == "finished" and run.newest("test/R_at_1")[0, "test/R_at_1"] is not None
    assert len([scalar for scalar in run.scalars() if scalar.key == "loss"]) > 1 and len(run.snapshots()) > 0
    return run


def test_there_is_an_example_for_each() -> None:
    assert list(CODES) == ["A training loop", "pytorch-metric-learning", "transformers", "Lightning"]


@pytest.mark.parametrize("heading", ["A training loop", "pytorch-metric-learning"])
def test_a_loop_is_a_run(heading: str, place: Path) -> None:
    executed(heading)
    whole(place)


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("every", [2, 0.34])  # steps, or a share of all six
def test_the_callback_of_transformers_logs_a_run(place: Path, every: float) -> None:
    from transformers import Trainer, TrainingArguments

    made = executed("transformers")["Rankscope"]("mine", IMAGES, {"class": LABELS})  # type: ignore[operator]
    rows = [{"images": image, "labels": label} for image, label in zip(IMAGES, LABELS, strict=True)]
    told = {"report_to": "none", "use_cpu": True, "save_strategy": "no", "disable_tqdm": True}
    arguments = TrainingArguments("out", max_steps=6, logging_steps=every, per_device_train_batch_size=4, **told)
    Trainer(Model(), arguments, train_dataset=rows, callbacks=[made]).train()  # type: ignore[arg-type]
    run = whole(place)
    assert run.newest("logged/learning_rate")[0, "logged/learning_rate"] is not None


@pytest.mark.filterwarnings("ignore")  # of the libraries
@pytest.mark.parametrize("way", ["plain", "accumulated", "manual"])
def test_the_callback_of_lightning_logs_a_run(place: Path, way: str) -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model, self.other = Model(), Model()
            self.automatic_optimization = way != "manual"

        def forward(self, images: Tensor) -> Tensor:
            return self.model.embed(images)

        def training_step(self, batch: list[Tensor], _index: int) -> Tensor:
            loss = self(batch[0]).pow(2).mean()
            if way == "manual":
                for optimizer in self.optimizers():
                    optimizer.step()
            return loss * 0 + 0.5

        def configure_optimizers(self) -> Any:
            every = [torch.optim.SGD(model.parameters(), lr=0.1) for model in (self.model, self.other)]
            return every if way == "manual" else every[0]

    made = executed("Lightning")["Rankscope"]("mine", IMAGES, {"class": LABELS}, every=2)  # type: ignore[operator]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(IMAGES), batch_size=4)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
    told = {"max_epochs": 3, "accumulate_grad_batches": 4 if way == "accumulated" else 1}
    lightning.Trainer(**told, callbacks=[made], **quiet).fit(Module(), loader)  # type: ignore[arg-type]
    run, steps = whole(place), 6 if way == "accumulated" else 24
    losses = [(row.step, row.value) for row in run.scalars() if row.key == "loss"]
    assert losses == [(step, 0.5) for step in range(1, steps + 1)]
    frames = [step for _, step, _ in run.snapshots()]
    assert frames == sorted(set(frames)) and frames[-1] == steps
