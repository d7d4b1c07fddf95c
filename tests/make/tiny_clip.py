"""``python -m tests.make.tiny_clip``: train the small CLIP, fine-tune it, write both for shipping."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

from tests.programs import arguments, command
from trainers.cli.work import result, train_to_end
from trainers.config import RunConfig, SceneChoice
from trainers.image_text.models import MODELS
from trainers.image_text.models.tiny_clip import ARCHITECTURE, ASSETS, WEIGHTS, TinyClip
from trainers.image_text.small import MEAN, STD
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_tensors

COMMAND = "python -m tests.make.tiny_clip"
_CARD = """---
license: apache-2.0
library_name: open_clip
---
# {title}

A CLIP of 2.8 million weights for 64-pixel images, trained on Rankscope's drawn scenes. It does not know photographs.
It exists so that object removal can be tried at once and without a network.

Weights and numbers were written by `{command}`.

```
{numbers}
```

open_clip reads the folder (`create_model_from_pretrained("local-dir:...")`); captions must be tokenised with
`trainers.image_text.small`, which keeps 6,000 of CLIP's merges.
"""


def save_folder(model: TinyClip, folder: Path, card: str) -> None:
    """Write the model as open_clip reads it (``local-dir:``): configuration, float16 weights, a card."""
    folder.mkdir(parents=True, exist_ok=True)
    config = {"model_cfg": ARCHITECTURE, "preprocess_cfg": {"mean": MEAN, "std": STD, "resize_mode": "squash"}}
    (folder / "open_clip_config.json").write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    # counters of batch normalisation are whole numbers and stay so
    weights = {
        name: value.detach().cpu().half() if value.is_floating_point() else value
        for name, value in model.net.state_dict().items()
    }
    write_tensors(folder / WEIGHTS, weights)
    (folder / "README.md").write_text(card, encoding="utf-8")


@command
def main(argv: list[str]) -> None:
    """Train, fine-tune, write."""
    given = arguments(
        __doc__,
        argv,
        out=(ASSETS, "folder for tiny_clip and tiny_clip_mended"),
        steps=(900, "of the first training"),
        finetune_steps=(FinetuningConfig().steps, "of the fine-tuning; 0 leaves it out"),
        keep_base=(False, "fine-tune the tiny_clip that is there"),
        seed=(0, "of weights and batches"),
        scenes=(int, "train scenes; the drawn scenes' default if not given"),
        threads=(int, "CPU threads of torch"),
    )
    base, finetuned = given.out / "tiny_clip", given.out / "tiny_clip_mended"
    if not given.keep_base:
        fresh = Choice(name="tiny_clip", parameters={"fresh": True})
        config = _config(given, fresh, {"removed": False}, given.steps, 1e-3)
        train(config, base, "Tiny CLIP", COMMAND)
    if given.finetune_steps:
        again = Choice(name="tiny_clip", parameters={"weights": str(base)})
        config = _config(given, again, {}, given.finetune_steps, MODELS["tiny_clip"].learning_rate)
        train(config, finetuned, "Tiny CLIP, fine-tuned", f"{COMMAND} --keep-base")


def train(config: RunConfig, target: Path, title: str, command: str) -> None:
    """Train one model and write it as an open_clip folder whose card names the command that made it.

    Raises:
        RunError: the training did not finish.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = RunFolder.create(Path(scratch), config)
        train_to_end(folder)
        model = encoders_of_run(folder).read(0).network
        assert isinstance(model, TinyClip)
        numbers = result(folder)
        card = _CARD.format(title=title, command=command, numbers=numbers)
        save_folder(model, target, card)
        folder.db.close()
    print(f"{target.name}: {numbers}")


def _fewer_scenes(train: int | None) -> SceneChoice:
    """The drawn scenes with so many to train on, the other splits in proportion; None: as they are."""
    if train is None:
        return SceneChoice()
    return SceneChoice(source=f"drawn_scenes:train={train},val={train // 12},test={max(20, train // 6)}")


def _config(given: argparse.Namespace, model: Choice, recipe: dict[str, object], steps: int, rate: float) -> RunConfig:
    return FinetuningConfig(
        scenes=_fewer_scenes(given.scenes),
        model=model,
        recipes=(recipe,),
        learning_rate=rate,
        steps=steps,
        snapshot_steps=max(1, steps // 5),  # no viewer
        seed=given.seed,
        threads=given.threads,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
