"""The model card of an arm of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trainers.comparison.markup import markdown_text
from trainers.kinds import kind_of
from trainers.metrics.measures import final_numbers
from trainers.publishing.pictures import NAME
from trainers.publishing.settings import source_name
from trainers.runs import RunFolder


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """The final numbers of an arm.

    Attributes:
        about: what they are about, e.g. ``whole test set, 1,600 images``.
        values: ``(key, title, value)`` of each.
    """

    about: str
    values: tuple[tuple[str, str, float], ...]


def numbers_of(folder: RunFolder, arm: int) -> Numbers:
    """Read the final numbers of an arm that the command line prints at the end; none before they are there."""
    config = folder.config
    measures = kind_of(config).measures_of(config)
    finals = final_numbers(folder.scalars(), config.arms)
    keys = [key for key in measures.summary or finals[arm] if key in finals[arm]]
    described = [(key, measures.describe(key)) for key in keys]
    shown = [(key, about.title, finals[arm][key]) for key, about in described if about.measure.family != "count"]
    return Numbers(about=measures.scored(finals[arm]) if shown else "", values=tuple(shown))


def card(folder: RunFolder, arm: int, repository: str, *, timm: str, picture: str) -> str:
    """Write the card: header for the Hub, what was trained how, the numbers, and how the model is loaded.

    Args:
        timm: name of the timm model that it is; empty: an encoder of this program alone.
        picture: what the picture beside the card shows; empty: there is none.
    """
    shown = numbers_of(folder, arm)
    rows = "\n".join(f"| {title} | {value:.4f} |" for _, title, value in shown.values)
    facts = "\n".join(f"- **{name}**: {words}" for name, words in _facts(folder, arm, timm).items() if words)
    shown_as = f"\n![{markdown_text(picture)}]({NAME})\n" if picture else ""
    numbers = (
        f"| {shown.about} | |\n|---|---|\n{rows}\n\nOne training, one seed: others give other numbers.\n"
        if rows
        else "It has no final numbers.\n"
    )
    return f"""---
{_header(folder, shown, repository, timm)}
---

# {repository.rpartition("/")[2]}

An image encoder trained with Rankscope. Whoever uploads it chooses its licence, within those of the images and of the
weights that it started from.

{facts}
{shown_as}
## Numbers

{numbers}
## Use

{_use(repository, timm)}
`config.json` beside `run.json`, the settings of the run, and `results.json`, all final numbers, unrounded.
"""


def _header(folder: RunFolder, shown: Numbers, repository: str, timm: str) -> str:
    """Write the metadata that the Hub reads, as YAML."""
    from huggingface_hub import EvalResult, ModelCardData

    config = folder.config
    kind, source = kind_of(config), source_name(kind_of(config).source(config))
    data: dict[str, Any] = {
        "task_type": "image-feature-extraction",
        "dataset_type": source,
        "dataset_name": kind.data_title(config),
        "dataset_revision": folder.revision or None,
        "dataset_split": shown.about or None,
    }
    results = [
        EvalResult(metric_type=key, metric_name=title, metric_value=round(value, 5), **data)
        for key, title, value in shown.values
    ]
    more: dict[str, Any] = {"eval_results": results} if results else {}
    header: str = ModelCardData(
        model_name=repository.rpartition("/")[2],
        library_name="timm" if timm else None,
        pipeline_tag="image-feature-extraction",
        base_model=f"timm/{timm}" if timm and "." in timm else None,
        datasets=[source] if folder.revision else None,
        tags=["metric-learning", "image-retrieval", "rankscope"],
        **more,
    ).to_yaml()
    return header


def _facts(folder: RunFolder, arm: int, timm: str) -> dict[str, str]:
    """Return what was trained how, by name."""
    config = folder.config
    kind = kind_of(config)
    about, source = kind.arms(config)[arm], source_name(kind.source(config))
    return {
        "Trained": f"{about.title} ({about.paper})" if about.paper else about.title,
        "Parameters": ", ".join(f"{name} {value}" for name, value in about.parameters.items()),
        "Images": f"{source} at commit {folder.revision}" if folder.revision else source,
        "Encoder": timm or config.encoder.name,  # type: ignore[attr-defined]
        "Settings": kind.summary(config, kind.data_title(config)),
        "Steps": kind.by_stage(folder) or f"{folder.state().step:,}",
        "Seed": str(config.single.seed),
    }


def _use(repository: str, timm: str) -> str:
    if not timm:
        return (
            "`encoder.safetensors` is read by `python -m trainers background`; its metadata name the encoder and its "
            "parameters.\n"
        )
    return f"""```python
import timm
model = timm.create_model("hf-hub:{repository}", pretrained=True, num_classes=0)
```

As an encoder of Rankscope: `--encoder timm:model=hf-hub:{repository}`.
"""
