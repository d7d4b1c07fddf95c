"""``python -m tests.make.tiny_clip``: train the small CLIP, fine-tune it, write both for shipping."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from tests.programs import command
from trainers.cli.work import result, train_to_end
from trainers.config import RunConfig, SceneChoice
from trainers.image_text.models import MODELS
from trainers.image_text.models.tiny_clip import ASSETS, TinyClip, save_folder
from trainers.kinds.finetuning.config import FinetuningConfig
from trainers.parameters import Choice
from trainers.retrieval.encoders import encoders_of_run
from trainers.runs import RunFolder

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


@command
def main(argv: list[str]) -> None:
    """Train, fine-tune, write."""
    flags = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    flags.add_argument("--out", type=Path, default=ASSETS, help="folder for tiny_clip and tiny_clip_mended")
    flags.add_argument("--steps", type=int, default=900, help="of the first training")
    flags.add_argument(
        "--finetune-steps", type=int, default=FinetuningConfig().steps, help="of the fine-tuning; 0 leaves it out"
    )
    flags.add_argument("--keep-base", action="store_true", help="fine-tune the tiny_clip that is there")
    flags.add_argument("--seed", type=int, default=0, help="of weights and batches")
    flags.add_argument("--scenes", type=int, default=None, help="train scenes; the drawn scenes' default if not given")
    flags.add_argument("--threads", type=int, default=None, help="CPU threads of torch")
    arguments = flags.parse_args(argv)
    base, finetuned = arguments.out / "tiny_clip", arguments.out / "tiny_clip_mended"
    if not arguments.keep_base:
        fresh = Choice(name="tiny_clip", parameters={"fresh": True})
        config = _config(arguments, fresh, {"removed": False}, arguments.steps, 1e-3)
        train(config, base, "Tiny CLIP", COMMAND)
    if arguments.finetune_steps:
        again = Choice(name="tiny_clip", parameters={"weights": str(base)})
        config = _config(arguments, again, {}, arguments.finetune_steps, MODELS["tiny_clip"].learning_rate)
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


def _config(
    arguments: argparse.Namespace, model: Choice, recipe: dict[str, object], steps: int, rate: float
) -> RunConfig:
    return FinetuningConfig(
        scenes=_fewer_scenes(arguments.scenes),
        model=model,
        recipes=(recipe,),
        learning_rate=rate,
        steps=steps,
        snapshot_steps=max(1, steps // 5),  # no viewer
        seed=arguments.seed,
        threads=arguments.threads,
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
