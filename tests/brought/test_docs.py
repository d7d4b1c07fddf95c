"""The examples of the documentation train and are runs."""

from __future__ import annotations

import re
from pathlib import Path

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
def test_the_callback_of_transformers_logs_a_run(place: Path) -> None:
    from transformers import Trainer, TrainingArguments

    made = executed("transformers")["Rankscope"]("mine", IMAGES, {"class": LABELS})  # type: ignore[operator]
    rows = [{"images": image, "labels": label} for image, label in zip(IMAGES, LABELS, strict=True)]
    told = {"report_to": "none", "use_cpu": True, "save_strategy": "no", "disable_tqdm": True}
    arguments = TrainingArguments("out", max_steps=6, logging_steps=2, per_device_train_batch_size=4, **told)
    Trainer(Model(), arguments, train_dataset=rows, callbacks=[made]).train()  # type: ignore[arg-type]
    run = whole(place)
    assert run.newest("logged/learning_rate")[0, "logged/learning_rate"] is not None


@pytest.mark.filterwarnings("ignore")  # of the libraries
def test_the_callback_of_lightning_logs_a_run(place: Path) -> None:
    import lightning

    class Module(lightning.LightningModule):
        def __init__(self) -> None:
            super().__init__()
            self.model = Model()

        def forward(self, images: Tensor) -> Tensor:
            return self.model.embed(images)

        def training_step(self, batch: list[Tensor], _index: int) -> Tensor:
            return self(batch[0]).pow(2).mean()

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.SGD(self.parameters(), lr=0.1)

    made = executed("Lightning")["Rankscope"]("mine", IMAGES, {"class": LABELS}, every=2)  # type: ignore[operator]
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(IMAGES), batch_size=4)
    quiet = {"logger": False, "enable_checkpointing": False, "enable_progress_bar": False, "accelerator": "cpu"}
    lightning.Trainer(max_steps=6, callbacks=[made], **quiet).fit(Module(), loader)  # type: ignore[arg-type]
    whole(place)
