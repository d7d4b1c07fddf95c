"""Compiled encoders: ``torch.compile`` of what encodes a batch in training."""

from __future__ import annotations

import tempfile
from types import MethodType

import torch
from torch import Tensor, nn

from trainers.encoders import Encoder
from trainers.errors import UserError, brief

KINDS_OF_CALL = 64
"""Most versions that are compiled of one function. An arm needs one or two, for few and for many images,
and of chunks as many without a gradient and with it; arms of one architecture share them."""


class Compiled:
    """Calls ``encode`` compiled in training, and as it is in evaluation, whose batches have other sizes.

    The network keeps its layers and the names of its weights; random numbers, such as those of dropout, are those of
    the plain network. Code is for batches of any size from the first one on: which code a batch meets, and so its last
    bits, do not depend on the batches before it, which a resumed run has not seen.

    Args:
        net: whose method ``encode`` is.
        encode: from ``[N, ...]`` to ``[N, D]``.
    """

    def __init__(self, net: nn.Module, encode: MethodType) -> None:
        self.net, self.encode = net, encode
        self._compiled = torch.compile(encode.__func__, options={"fallback_random": True})

    def __call__(self, inputs: Tensor) -> Tensor:
        """Encode a batch.

        Raises:
            UserError: it cannot be compiled here.
        """
        if not self.net.training:
            return self.encode(inputs)
        torch._dynamo.maybe_mark_dynamic(inputs, 0)
        try:
            encoded: Tensor = self._compiled(self.net, inputs)
        except torch._dynamo.exc.TorchDynamoException as error:
            raise _refused(error) from error
        return encoded


def compile_encoders(net: nn.Module) -> None:
    """Have what ``net`` names in ``encodes``, itself or in its parts, be compiled when it is first called in training.

    To be called before :func:`trainers.training.memory.encode_in_chunks`, so that chunks are compiled.

    Raises:
        UserError: torch cannot compile on this Python or keep what it compiles, or ``net`` is an image-text model.
    """
    if hasattr(net, "encodes") and not isinstance(net, Encoder):
        raise UserError("Image-text models cannot be compiled, only encoders of images alone; leave compiled off.")
    try:
        import torch._dynamo  # takes a second, and makes the folder
        from torch._inductor.runtime.cache_dir_utils import cache_dir

        tempfile.TemporaryFile(dir=cache_dir()).close()
    except OSError as error:
        raise UserError(
            f"A folder is needed for compiled code, and it cannot be written ({brief(error)}). Set "
            "TORCHINDUCTOR_CACHE_DIR to one that can, or leave compiled off."
        ) from error
    torch._dynamo.config.recompile_limit = KINDS_OF_CALL
    within: set[nn.Module] = set()  # what is inside a compiled method is compiled with it
    try:
        for part in net.modules():
            names = () if part in within else getattr(part, "encodes", ())
            for name in names:
                vars(part)[name] = Compiled(part, getattr(part, name))
            within.update(part.modules() if names else ())
    except RuntimeError as error:
        raise _refused(error) from error


def _refused(error: Exception) -> UserError:
    why = brief(getattr(error, "inner_exception", error))  # without torch's advice on its own logs
    return UserError(
        "A compiled encoder needs a C++ compiler (g++, or clang on macOS), the headers of Python, and a Python and a "
        f"network that torch.compile takes; torch says: {why}. Install what is missing, or leave compiled off."
    )
