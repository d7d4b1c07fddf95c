"""Networks as Python that makes them without this program: layers of torch, models of timm."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from torch import Tensor, nn


@dataclass(frozen=True, kw_only=True)
class Code:
    """How a network is made, and called on images.

    Attributes:
        parts: an expression by the name of each layer that has weights; their tensors are named as in the network.
        call: an expression of raw embeddings ``[B, D]``, of normalised pixels ``x`` and the layers ``net.NAME``.
        mean, std: that pixels in 0..1 are normalised with, of each channel.
        side: to which images are scaled after that, in pixels; None: they stay as they are.
        needs: libraries beside torch.
        only: what the names of its tensors begin with, where a part has others in the network.
    """

    parts: Mapping[str, str]
    call: str
    mean: tuple[float, ...]
    std: tuple[float, ...]
    side: int | None = None
    needs: tuple[str, ...] = ()
    only: str = ""

    def tensors(self, net: nn.Module) -> dict[str, Tensor]:
        """Return those tensors of the network that it needs."""
        return {
            name: value
            for name, value in net.state_dict().items()
            if name.split(".")[0] in self.parts and name.startswith(self.only)
        }

    def within(self, name: str) -> Code:
        """Return the same as the layer ``name`` of another network."""
        call = self.call.replace("net.", f"net.{name}.")
        return replace(self, parts={name: holding(self.parts, "    ")}, call=call)

    def then(self, net: nn.Module, names: Sequence[str]) -> Code:
        """Return the same with further layers of ``net`` in a row; those that do nothing are left out.

        Raises:
            ValueError: one is no layer of torch's.
        """
        parts, call = dict(self.parts), self.call
        for name in names:
            layer = net.get_submodule(name)
            if not isinstance(layer, nn.Identity):
                parts[name], call = written(layer), f"net.{name}({call})"
        return replace(self, parts=parts, call=call)


def channels(statistic: Tensor) -> tuple[float, ...]:
    """Return the numbers of a float32 tensor, each with as few digits as it takes to write it."""
    return tuple(float(str(value)) for value in statistic.flatten().cpu().numpy())


def holding(parts: Mapping[str, str], indent: str = "") -> str:
    """Write a network that holds layers by name.

    Args:
        indent: of the line that it ends in, beyond that of its outermost holder.
    """
    rows = "".join(f'    "{name}": {made},\n' for name, made in parts.items())
    return f"nn.ModuleDict({{\n{rows}}})".replace("\n", f"\n{indent}")


def written(layer: nn.Module, indent: str = "    ") -> str:
    """Write a layer of torch's, or a row of such layers, as the expression that makes it with random weights.

    Args:
        indent: of the line that it ends in: rows of rows have a line each.

    Raises:
        ValueError: it is neither.
    """
    if type(layer) is nn.Sequential and [name for name, _ in layer.named_children()] == [*map(str, range(len(layer)))]:
        if not any(isinstance(part, nn.Sequential) for part in layer):
            return f"nn.Sequential({', '.join(map(written, layer))})"
        rows = "".join(f"{indent}    {written(part, f'{indent}    ')},\n" for part in layer)
        return f"nn.Sequential(\n{rows}{indent})"
    if not type(layer).__module__.startswith("torch.nn.modules.") or list(layer.children()):
        raise ValueError(f"{type(layer).__name__} is no layer of torch's")
    made = ast.parse(repr(layer), mode="eval").body  # of these layers it is the call that makes them
    assert isinstance(made, ast.Call)
    usual = inspect.signature(type(layer)).parameters
    values = {word.arg: _same(ast.literal_eval(word.value)) for word in made.keywords if word.arg}
    if False in (values.get("affine"), values.get("elementwise_affine")):
        values.pop("bias", None)  # there is none, and normalisations of earlier versions cannot be asked for it
    given = [*map(ast.unparse, made.args)]
    given += [f"{name}={value!r}" for name, value in values.items() if name in usual and value != usual[name].default]
    return f"nn.{type(layer).__name__}({', '.join(given)})"


def _same(value: object) -> object:
    """Return the one number that a tuple repeats, as layers take it."""
    return value[0] if isinstance(value, tuple) and len(set(value)) == 1 else value
