"""A timm model in a repository of the Hub, ``hf-hub:owner/name``: its architecture, and where its weights are.

timm would take any setting from the repository's configuration, a path of weights on this machine among them; only
what describes the architecture is taken here, and weights are read as safetensors alone.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainers.errors import DataError, UserError

WEIGHTS = "model.safetensors"
PREFIXES = ("hf-hub:", "hf_hub:")
_NAME = re.compile(r"(\w[\w.-]*/\w[\w.-]*)(?:@([\w./-]+))?")
_TAKEN = ("input_size", "fixed_input_size", "pool_size", "mean", "std", "interpolation", "crop_pct", "classifier")
_STEM = ("first_conv", "num_classes")
_OWN = {"pretrained", "num_classes", "in_chans", "img_size"}  # arguments that this program sets itself


@dataclass(frozen=True, kw_only=True)
class HubModel:
    """What timm needs to make the model.

    Attributes:
        architecture: a name of timm's.
        about: its ``pretrained_cfg``.
        arguments: of the architecture, plain values.
    """

    architecture: str
    about: Mapping[str, Any]
    arguments: Mapping[str, Any]


def hub_model(name: str) -> HubModel | None:
    """Read the configuration of a model of the Hub; None for a name without ``hf-hub:``.

    Raises:
        UserError: there is no such repository, it cannot be reached, or holds no timm model.
    """
    if not name.startswith(PREFIXES):
        return None
    asked = _NAME.fullmatch(name[len(PREFIXES[0]) :])
    if asked is None:
        raise UserError(
            f"A model of the Hub is written hf-hub:owner/name or hf-hub:owner/name@revision; got {name!r:.80}."
        )
    repository, revision = asked.groups()
    file = _config(repository, revision)
    try:
        config = json.loads(file.read_bytes())
        architecture, about = config["architecture"], dict(config.get("pretrained_cfg") or config)
        arguments = dict(config.get("model_args") or {})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _no_model(repository) from error
    plain = (bool, int, float, str, type(None))
    if not isinstance(architecture, str) or not all(isinstance(value, plain) for value in arguments.values()):
        raise _no_model(repository)
    taken = {key: about[key] for key in (*_TAKEN, *_STEM) if key in about}
    where = {"hf_hub_id": repository if revision is None else f"{repository}@{revision}", "source": "hf-hub"}
    return HubModel(
        architecture=architecture,
        about=taken | where | {"hf_hub_filename": WEIGHTS, "architecture": architecture},
        arguments={key: value for key, value in arguments.items() if key not in _OWN},
    )


def _config(repository: str, revision: str | None) -> Path:
    """Fetch the configuration, once it is known that the weights may be fetched too."""
    from huggingface_hub import HfApi, hf_hub_download

    from trainers.data import access
    from trainers.data.hf_errors import MODEL, explained
    from trainers.data.hub_requests import LOOK_SECONDS, offline, online

    connected = online()
    with explained(repository, MODEL), nullcontext() if connected else offline():
        if connected:
            about = HfApi(token=access.token()).model_info(
                repository, revision=revision, timeout=LOOK_SECONDS, files_metadata=True
            )
            _check_weights(repository, {file.rfilename: file.size or 0 for file in about.siblings or []})
        return Path(hf_hub_download(repository, "config.json", revision=revision, token=access.token()))


def _check_weights(repository: str, sizes: Mapping[str, int]) -> None:
    from trainers.data import settings

    if WEIGHTS not in sizes:
        raise DataError(f"{repository!r} has no {WEIGHTS}, and other files of weights are not opened. Choose another.")
    if sizes[WEIGHTS] > settings.download_bytes():
        raise DataError(
            f"The weights of {repository!r} are a download of {sizes[WEIGHTS] / settings.GB:.1f} GB; the limit here is "
            f"{settings.download_bytes() / settings.GB:g} GB. Choose a smaller model, or raise RANKSCOPE_DOWNLOAD_GB."
        )


def _no_model(repository: str) -> UserError:
    return UserError(
        f"{repository!r} holds no timm model: its config.json needs `architecture`, as timm writes it. Choose another, "
        "or a name of timm.list_models()."
    )
