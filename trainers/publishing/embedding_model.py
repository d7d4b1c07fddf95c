"""A run's whole embedding model as a file: encoder, pooling, head and the scaling to length 1, with its card."""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainers.config import VERSION
from trainers.data.pixel_range import PIXELS
from trainers.encoders import Encoder
from trainers.errors import UserError
from trainers.image_text.models import ImageTextModel
from trainers.kinds import kind_of
from trainers.publishing.loader import onnx_loader
from trainers.registry import importing
from trainers.retrieval.encoders import encoders_of_run, without_features
from trainers.runs import RunFolder
from trainers.runs.atomic_files import write_bytes, write_tensors
from trainers.runs.earlier import SETTINGS
from trainers.runs.regular import replaceable
from trainers.training.embedding import ImageEncoder
from trainers.training.encoder_file import RunEncoders

ONNX = ("onnx", "onnxscript")
"""Libraries that write ONNX files; ``onnxruntime`` runs them."""


@dataclass(frozen=True, kw_only=True)
class EmbeddingModel:
    """An arm of a run from pixels to embeddings, as it was scored.

    Attributes:
        folder, arm: where it is from.
        encoder: at the last checkpoint, on the CPU.
    """

    folder: RunFolder
    arm: int
    encoder: ImageEncoder

    @classmethod
    def of(cls, folder: RunFolder, arm: int) -> EmbeddingModel:
        """Read an arm.

        Raises:
            UserError: the run embeds no images, has no such arm or no checkpoint.
            RunError: it is damaged.
        """
        return cls(folder=folder, arm=arm, encoder=encoders_of_run(folder).read(arm))

    @property
    def network(self) -> Encoder | ImageTextModel:
        """The network, which of frozen features takes these."""
        network = without_features(self.encoder.network).cpu()
        assert isinstance(network, Encoder | ImageTextModel)
        return network

    def write(self, path: Path) -> str:
        """Write a safetensors file; its tensors are named as in this program, its metadata say what it is.

        Returns:
            how it is loaded, in Markdown.

        Raises:
            DiskFullError: the disk is full.
            OSError: the file cannot be written, or what lies there is no file.
        """
        network = self.network
        tower = network.image_tower if isinstance(network, ImageTextModel) else ()
        tensors = {name: value for name, value in network.state_dict().items() if name.startswith(tower or "")}
        path = replaceable(path)
        write_tensors(path, tensors, self._about(), home=path.parent, shared=True)
        return f"""`{path.name}` holds encoder, pooling and head. With Rankscope:

```python
import rankscope

model = rankscope.load_model({json.dumps(path.name)})
rows = model.embed(["one.jpg", "two.jpg"])  # float32, a row of length 1 for each image
```
{self._own_class()}"""

    def _own_class(self) -> str:
        """Say what has to be there before a model that does not come with this program is loaded."""
        made = type(self.network)
        if made.__module__.startswith(__name__.removesuffix("publishing.embedding_model")):
            return ""
        return f"\n`{made.__qualname__}` is not Rankscope's own: name its file first, `rankscope.use_plugin(FILE)`.\n"

    def by_timm(self, file: str) -> str:
        """Return in Markdown how timm loads the encoder of a file of :meth:`write`, without its head; empty: it is no
        model of timm's as timm makes it.
        """
        network = self.network
        encoder = network if isinstance(network, Encoder) else getattr(network, "encoder", None)
        made = getattr(encoder, "made", "")
        if not made or not RunEncoders(self.folder).names_are_the_librarys(self.arm):
            return ""
        assert isinstance(encoder, Encoder)
        inside = f"{'' if encoder is network else 'encoder.'}{encoder.wraps}."
        mean, std = ([float(str(one)) for one in values.flatten().numpy()] for values in (encoder.mean, encoder.std))
        return f"""The encoder alone, without pooling and head of the run, by timm:

```python
import timm
from safetensors.torch import load_file

encoder = {made}.eval()
tensors = load_file({json.dumps(file)})
encoder.load_state_dict({{name[{len(inside)}:]: tensors[name] for name in tensors if name.startswith("{inside}")}})
```

It takes RGB images in 0 to 1, less the mean {mean} and divided by {std}.
"""

    def write_onnx(self, path: Path) -> str:
        """Write an ONNX file: from images in 0..1, any number of them, to rows of length 1.

        Returns:
            how it is run, in Markdown.

        Raises:
            UserError: the libraries that write it are not installed, or cannot write this network.
            OSError: the file cannot be written.
        """
        program = self._traced()
        program.model.metadata_props.update(self._about())
        path = replaceable(path)
        write_bytes(path, program.model_proto.SerializeToString(), home=path.parent, shared=True)
        encoder, whole = self.encoder, isinstance(self.network, ImageTextModel)
        code = onnx_loader(path.name, channels=encoder.channels, side=encoder.side, whole=whole)
        return (
            f"`{path.name}` holds encoder, pooling, head and normalisation, for any number of images; onnxruntime runs "
            f"it:\n\n```python\n{code}```\n\n{self._remarks()}"
        )

    def _traced(self) -> Any:
        lacking = [name for name in ONNX if find_spec(name) is None]
        if lacking:
            raise UserError(f"ONNX files need {' and '.join(lacking)}: pip install onnx onnxscript onnxruntime")
        images = torch.rand(2, self.encoder.channels, self.encoder.side, self.encoder.side)
        with importing(), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the exporter's own, about what it calls
            try:
                return torch.onnx.export(
                    _Whole(self.network).eval(),
                    (images,),
                    dynamo=True,
                    dynamic_shapes={"images": {0: torch.export.Dim.DYNAMIC}},
                    input_names=["images"],
                    output_names=["embeddings"],
                    verbose=False,
                )
            except Exception as error:  # it raises many kinds
                said = str(error).strip().partition("\n")[0][:200]
                raise UserError(f"torch cannot write this network as ONNX: {said}.") from error

    def _about(self) -> dict[str, str]:
        config, encoder = self.folder.config, self.encoder
        network = self.network
        if isinstance(network, ImageTextModel):
            choice = config.model  # type: ignore[attr-defined]
            about = {"model": json.dumps({"name": choice.name, "parameters": dict(choice.parameters)})}
        else:
            choice = config.single.encoder  # type: ignore[attr-defined]
            with_head = any(not isinstance(getattr(network, name), nn.Identity) for name in network.behind)
            about = {"encoder": json.dumps({"name": choice.name, "parameters": dict(choice.parameters)})}
            about["dim"] = str(kind_of(config.single).sizes(config.single)["dim"]) if with_head else "0"
        about |= {SETTINGS: str(VERSION), "channels": str(encoder.channels), "side": str(encoder.side)}
        if config.single.encoder_norm:
            about["norm"] = config.single.encoder_norm
        if encoder.pixel_range is not None:
            about[PIXELS] = json.dumps(encoder.pixel_range.as_list())
        return about | {"run": encoder.run, "arm": str(self.arm), "step": str(encoder.step)}

    def _remarks(self) -> str:
        wide = self.encoder.pixel_range
        said = [
            "`read` reads files as the images of the run were read: plain grey and RGB files of 8 bits; of others "
            "transparency and palettes are to be resolved first.",
            f"Of files with more than 8 bits a channel, {wide.text} was read as black to white." if wide else "",
            "Features are rounded to half precision, as in training: another order of sums, on other hardware or in "
            "another library, moves a few rows by up to 1e-4."
            if isinstance(self.network, Encoder) and self.network.frozen
            else "",
            "It computes in float32; runs on a GPU are scored in bf16 unless their precision says otherwise.",
        ]
        return " ".join(filter(None, said)) + "\n"


class _Whole(nn.Module):
    """From pixels in 0..1 to rows of length 1."""

    def __init__(self, network: Encoder | ImageTextModel) -> None:
        super().__init__()
        self.network = network

    def forward(self, images: Tensor) -> Tensor:
        network = self.network
        if isinstance(network, Encoder) and network.frozen:
            images = network.features(images).half().float()  # as training keeps them
        return nn.functional.normalize(network(images), dim=1)
