"""The source of an open_clip model: a built-in name with weights, a folder, or a repository of the Hub.

Only the configuration of a model is read here; one that asks for more than weights is refused.
"""

from __future__ import annotations

import difflib
import json
import sys
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from trainers.checkpoints.files import tensors_in
from trainers.data import access
from trainers.data.hf_transformers import INSTALL, REPOSITORY
from trainers.data.hub_requests import offline, online
from trainers.data.reachable import reachable
from trainers.errors import UserError, brief
from trainers.image_text.base import Download
from trainers.registry import importing

CONFIG = "open_clip_config.json"
WEIGHTS = ("open_clip_model.safetensors", "open_clip_pytorch_model.bin")  # what open_clip asks a repository for
SUFFIXES = (".safetensors", ".bin", ".pth", ".pt")  # the last three are read as weights only, never as code
_HUB, _FOLDER = "hf-hub:", "local-dir:"
_SCALE = "logit_scale"
_PREFERRED = (
    *("open_clip_model.safetensors", "open_clip_pytorch_model.safetensors", "open_clip_pytorch_model.bin"),
    *("open_clip_pytorch_model.pth", "model.safetensors", "pytorch_model.bin", "pytorch_model.pth", "model.pth"),
)
"""Names of weights in a folder, in open_clip's order."""


def _weights(repository: str, megabytes: int, licence: str) -> Download:
    return Download(repository=repository, file=WEIGHTS[0], megabytes=megabytes, licence=licence)


REGISTERED: Mapping[tuple[str, str], tuple[Download, bool]] = {
    ("ViT-B-32", "openai"): (_weights("timm/vit_base_patch32_clip_224.openai", 605, "apache-2.0"), False),
    ("ViT-B-16-SigLIP", "webli"): (_weights("timm/ViT-B-16-SigLIP", 813, "apache-2.0"), True),
    ("ViT-B-32", "laion2b_s34b_b79k"): (_weights("laion/CLIP-ViT-B-32-laion2B-s34B-b79K", 605, "mit"), False),
}
"""The repositories of the registered models' weights, and whether their tokeniser is one of transformers: listing them
then does not import open_clip, which takes seconds. A test compares this with open_clip's own table."""
_TOKENISER_CHOICES = {"clean", "strip_sep_token", "language"}  # others could name files or ask for remote code


@dataclass(frozen=True, kw_only=True)
class ModelSource:
    """A model that can be loaded.

    Attributes:
        name: as open_clip takes it.
        pretrained: tag or path of the weights; None where the name brings its own.
        config: ``model_cfg``: the two towers.
        statistics: ``mean`` and ``std`` of a built-in model's own weights, for a checkpoint that brings none.
        quick_gelu: the weights were trained with the approximate GELU, whatever the name says.
        remote: something may have to be downloaded.
    """

    name: str
    pretrained: str | None
    config: Mapping[str, Any]
    statistics: Mapping[str, Any]
    quick_gelu: bool = False
    remote: bool = False

    @property
    def text(self) -> Mapping[str, Any]:
        """Settings of the text tower."""
        return self.config["text_cfg"]

    @property
    def hf_tokenizer(self) -> bool:
        """Whether its tokeniser is one of transformers."""
        return bool(self.text.get("hf_tokenizer_name"))


def locate(model: str, pretrained: str) -> ModelSource:
    """Find a model and check what it asks for; at most its small configuration file is downloaded.

    Args:
        model: a name open_clip knows, ``hf-hub:organisation/repository`` or ``local-dir:folder``.
        pretrained: for a name alone: a tag of open_clip's, or the path of a checkpoint.

    Raises:
        UserError: it cannot be had; the message says why and what to do.
    """
    model = model.strip()
    if model.startswith(_FOLDER):
        source = _folder(access.allowed_path(model[len(_FOLDER) :]))
    elif model.startswith(_HUB):
        source = _repository(model[len(_HUB) :])
    else:
        source = _built_in(model.replace("/", "-"), pretrained.strip())
    _check(source)
    return source


def checkpoint(source: ModelSource) -> Path:
    """Return the file of weights on this machine that open_clip reads, of a folder the one that it prefers."""
    if source.pretrained is not None:
        return Path(source.pretrained)
    folder = Path(source.name.removeprefix(_FOLDER))
    files = [path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES[:3]]
    known = [path for name in _PREFERRED for path in files if path.name == name]
    return next(iter(known), min(files, key=lambda path: path.suffix != SUFFIXES[0]))


def rewritten(source: ModelSource, file: Path, scratch: Path) -> ModelSource:
    """Write the network of a checkpoint of open_clip's training alone, with its own names, and say where.

    A network is known by its ``logit_scale``; of several the first in the file.

    Raises:
        UserError: the file cannot be read without running code, or holds none.
    """
    from safetensors.torch import save_file

    held = [
        (name.removesuffix(_SCALE), given)
        for given in tensors_in(file).values()
        for name in given
        if f".{name}".endswith(f".{_SCALE}")
    ]
    if not held:
        raise UserError(f"{file.name} holds no network of open_clip: none of its tensors is called {_SCALE}.")
    front, given = held[0]
    tensors = {
        name.removeprefix(front): value.clone(memory_format=torch.contiguous_format)
        for name, value in given.items()
        if name.startswith(front)
    }
    target = scratch / WEIGHTS[0]
    save_file(tensors, target)
    if source.pretrained is not None:
        return replace(source, pretrained=str(target))
    (scratch / CONFIG).write_bytes((Path(source.name.removeprefix(_FOLDER)) / CONFIG).read_bytes())
    return replace(source, name=f"{_FOLDER}{scratch}")


def missing(model: str, pretrained: str) -> str | None:
    """Say why a model cannot be had now, or None; neither the network nor weights are touched."""
    name, forbidden = model.strip(), reachable() is False
    if (name, pretrained) in REGISTERED and "open_clip" not in sys.modules:
        weights, hf_tokenizer = REGISTERED[name, pretrained]
        if hf_tokenizer and find_spec("transformers") is None:
            return _without_transformers(name)
        return _away(name, pretrained) if forbidden and _cached(weights.repository, WEIGHTS) is None else None
    hub = name.startswith(_HUB)
    if hub and _cached(name[len(_HUB) :], (CONFIG,)) is None:
        return _away(name) if forbidden else None
    try:
        with offline() if hub else nullcontext():
            source = locate(name, pretrained)
    except UserError as error:
        return str(error)
    away = source.remote and forbidden and not _weights_cached(source)
    return _away(source.name, source.pretrained or "") if away else None


def download(model: str, pretrained: str) -> Download | None:
    """Return what of a registered model has to be fetched first; None: nothing, or it is not known."""
    weights, _ = REGISTERED.get((model.strip(), pretrained), (None, False))
    return None if weights is None or _cached(weights.repository, WEIGHTS) is not None else weights


def _folder(folder: Path) -> ModelSource:
    if not folder.is_dir():
        raise UserError(
            f"There is no folder {folder.name!r} to load a model from. Write local-dir: and its whole path."
        )
    if not (folder / CONFIG).is_file():
        raise UserError(f"The folder {folder.name!r} has no {CONFIG}. Point to a folder that open_clip wrote.")
    weights = [path for path in sorted(folder.iterdir()) if path.suffix in SUFFIXES[:3]]
    if not weights:
        raise UserError(
            f"The folder {folder.name!r} has no weights beside its {CONFIG}. Put open_clip_model.safetensors there."
        )
    access.check_links(folder)
    return ModelSource(name=f"{_FOLDER}{folder}", pretrained=None, config=_config(folder / CONFIG), statistics={})


def _repository(repository: str) -> ModelSource:
    import huggingface_hub

    if REPOSITORY.fullmatch(repository) is None:
        raise UserError(f"A repository is needed as hf-hub:organisation/name; got hf-hub:{repository}.")
    name = f"{_HUB}{repository}"
    try:
        with nullcontext() if online() else offline():
            path = huggingface_hub.hf_hub_download(repository, CONFIG, token=access.token())
    except Exception as error:  # the library passes on whatever its transport raises
        raise UserError(f"{_away(name)} ({brief(error)})") from error
    return ModelSource(name=name, pretrained=None, config=_config(Path(path)), statistics={}, remote=True)


def _built_in(name: str, pretrained: str) -> ModelSource:
    with importing():
        import open_clip

    config = open_clip.get_model_config(name) if name in open_clip.list_models() else None
    if config is None:
        near = difflib.get_close_matches(name, open_clip.list_models(), n=3, cutoff=0.4)
        raise UserError(
            f"open_clip knows no model {name!r}{'; near it: ' + ', '.join(near) if near else ''}. Write one of its "
            "names, hf-hub:organisation/repository, or local-dir: and a folder."
        )
    tags = open_clip.list_pretrained_tags_by_model(name)
    tag = open_clip.get_pretrained_cfg(name, pretrained) if pretrained else {}
    published = tag or (open_clip.get_pretrained_cfg(name, tags[0]) if tags else {})
    if not tag:
        _checkpoint(name, pretrained, tags)
    return ModelSource(
        name=name,
        pretrained=pretrained if tag else str(Path(pretrained).expanduser()),
        config=config,
        statistics={key: published[key] for key in ("mean", "std") if key in published},
        quick_gelu=bool(tag.get("quick_gelu")),
        remote=bool(tag),
    )


def _checkpoint(name: str, pretrained: str, tags: list[str]) -> None:
    """Check that weights for a built-in name lie at a path."""
    choice = f"{', '.join(tags) or 'none'}"
    is_path = any(mark in pretrained for mark in "/\\~") or pretrained.endswith(SUFFIXES)
    if not pretrained or (not is_path and not (access.allowed(Path(pretrained)) and Path(pretrained).exists())):
        raise UserError(f"{name} needs weights: a tag ({choice}) or the path of a checkpoint; got {pretrained!r}.")
    path = access.allowed_path(pretrained)
    if not path.is_file():
        raise UserError(f"There is no checkpoint {path.name!r}. Give its whole path, or a tag ({choice}).")
    if path.suffix not in SUFFIXES:
        raise UserError(f"A checkpoint must end in {', '.join(SUFFIXES)}; got {path.name!r}. Convert it first.")


def _config(path: Path) -> dict[str, Any]:
    try:
        config = json.loads(path.read_text(encoding="utf-8"))["model_cfg"]
        towers = (config["vision_cfg"], config["text_cfg"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UserError(
            f"{CONFIG} of {path.parent.name!r} cannot be used ({brief(error)}). It needs model_cfg with vision_cfg and "
            "text_cfg, as open_clip writes it."
        ) from error
    if not all(isinstance(tower, dict) for tower in towers):
        raise UserError(f"{CONFIG} of {path.parent.name!r} needs vision_cfg and text_cfg as tables.")
    return config


def _check(source: ModelSource) -> None:
    asked = source.text.get("tokenizer_kwargs") or {}
    extra = sorted(set(asked) - _TOKENISER_CHOICES)
    if extra:
        raise UserError(
            f"{source.name} sets {extra[0]!r} for its tokeniser, which is not followed here. Remove it from {CONFIG}."
        )
    if (source.hf_tokenizer or source.text.get("hf_model_name")) and find_spec("transformers") is None:
        raise UserError(_without_transformers(source.name))


def _cached(repository: str, names: tuple[str, ...]) -> str | None:
    from huggingface_hub import try_to_load_from_cache

    if REPOSITORY.fullmatch(repository) is None:
        return ""  # not a repository: refused elsewhere
    paths = (try_to_load_from_cache(repository, name) for name in names)
    return next((path for path in paths if isinstance(path, str)), None)


def _weights_cached(source: ModelSource) -> bool:
    if source.name.startswith(_HUB):
        return _cached(source.name[len(_HUB) :], WEIGHTS) is not None
    with importing():
        import open_clip

    tag = open_clip.get_pretrained_cfg(source.name, source.pretrained)
    repository, _, name = tag.get("hf_hub", "").rpartition("/")
    if not repository:
        return (Path.home() / ".cache" / "clip" / tag.get("url", "").rpartition("/")[2]).is_file()
    stem = name.rpartition(".")[0]
    return _cached(repository, (f"{stem}.safetensors", name) if name else WEIGHTS) is not None


def _without_transformers(name: str) -> str:
    return f"{name} needs the tokeniser of the transformers library: {INSTALL}"


def _away(name: str, pretrained: str = "") -> str:
    weights, _ = REGISTERED.get((name, pretrained), (None, False))
    said = (
        f"{name} is not on this machine and cannot be downloaded now. Connect to the network (and unset "
        "HF_HUB_OFFLINE), or point to a folder with local-dir:FOLDER."
    )
    return said if weights is None else f"{said} With a network, this brings it: {weights.command} ({weights.facts})"
