"""Settings of an earlier version, spelled as this one reads them."""

from __future__ import annotations

from typing import Any

SETTINGS = "settings"
"""In the metadata of files with weights: the version of the settings in them; none: 2."""


def with_former_defaults(values: Any) -> Any:
    """Write out what the version before left to its defaults and is another by default now: the model of ``timm`` and
    ``timm_frozen``, and the head of ``timm_frozen``.

    Args:
        values: settings, or a part of them, as JSON holds them; not changed.
    """
    if isinstance(values, list):
        return [with_former_defaults(value) for value in values]
    if not isinstance(values, dict):
        return values
    values = {name: with_former_defaults(value) for name, value in values.items()}
    parameters = values.get("parameters")
    if isinstance(parameters, dict):
        if values.get("name") == "timm":
            values["parameters"] = {"model": "resnet18", **parameters}
        if values.get("name") == "timm_frozen":
            values["parameters"] = {"model": "resnet18", "head": "mlp", **parameters}
        if values.get("name") == "two_towers" and isinstance(parameters.get("encoder"), str):
            values["parameters"] = {**parameters, "encoder": _spelled(parameters["encoder"])}
    return values


def _spelled(encoder: str) -> str:
    """Write the model into ``timm:pretrained=false``, which names none."""
    name, _, given = encoder.partition(":")
    if name != "timm" or (given and ("=" not in given.split(";")[0] or "model=" in given)):
        return encoder
    return f"timm:model=resnet18{given and f';{given}'}"
