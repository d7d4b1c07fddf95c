"""What a visitor chose in the sidebar, kept by their own browser and checked when it comes back.

The browser keeps only what differs from the defaults, in its own storage; the server keeps nothing. What comes back may
be old or made up: every value passes the check of a start, and what does not pass is its default again, without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from explorer.page.controls import raw, read
from explorer.page.form import Images, Training
from trainers.config import MAX_LOSSES, DataChoice, RunConfig
from trainers.data import SOURCES
from trainers.data.sources import check_reference, resolve
from trainers.encoders import ENCODERS
from trainers.errors import UserError
from trainers.losses import FAMILIES, LOSSES
from trainers.parameters import specs
from trainers.samplers import SAMPLERS

VERSION = 1
"""Of what is kept; what another version kept is forgotten."""
KEY = "rankscope-settings"
"""Under which the browser keeps it."""
LONGEST = 50_000  # letters of what is kept; the page itself writes a fifth of that at most
_TEXT = 300  # letters of one text
_COLUMNS = 8
_UNSENT = re.compile(r"[\0\ud800-\udfff]")
_CORRECTIONS = ("image_column", "train_split", "test_split")

Values = dict[str, Any]


def loss_names() -> list[str]:
    """Names of the fields that hold the losses."""
    return [f"loss_{slot}" for slot in range(MAX_LOSSES)]


def loss_texts() -> list[str]:
    """Names of the fields that hold their parameters."""
    return [f"{name}_parameters" for name in loss_names()]


def defaults() -> Values:
    """Every field of the sidebar as it is at first, in the order in which the page lists them."""
    config, data = RunConfig(), DataChoice()
    losses = [loss.name for loss in config.losses if loss.name in LOSSES] or list(LOSSES)[:2]
    slots = [losses[slot] if slot < len(losses) else None for slot in range(MAX_LOSSES)]
    images = dict.fromkeys(Images.__dataclass_fields__, "") | dict.fromkeys(_CORRECTIONS)
    return {
        **images,
        "source": data.source,
        "label_columns": [],
        "max_images": data.max_images,
        **dict(zip(loss_names(), slots, strict=True)),
        **dict.fromkeys(loss_texts(), "{}"),
        "encoder": config.encoder,
        "encoder_parameters": "{}",
        "sampler": config.sampler,
        **{spec.name: raw(spec, spec.default) for spec in specs(Training)},
    }


def restored(text: object) -> Values:
    """The fields as they were left, what cannot be used replaced by its default.

    Args:
        text: JSON as :func:`keeping` writes it; anything else counts as nothing.
    """
    values = defaults()
    kept = _read(text)
    return (
        values | _images(kept) | _losses(kept) | _encoder(kept) | _choice(kept, "sampler", SAMPLERS) | _training(kept)
    )


def keeping() -> str:
    """JavaScript that takes the values of all fields, in the order of :func:`defaults`, and keeps what was changed.

    It waits for the page to have restored them: what Gradio shows before that is nobody's choice.
    """
    return f"""(...values) => {{
  const defaults = {json.dumps(defaults())};
  const changed = Object.entries(defaults).map(([name, value], i) => [name, value, values[i] ?? null])
    .filter(([, before, now]) => JSON.stringify(before) !== JSON.stringify(now));
  try {{
    if (!window.rankscopeRestored) return [];
    const kept = Object.fromEntries(changed.map(([name, , now]) => [name, now]));
    if (changed.length) localStorage.setItem("{KEY}", JSON.stringify({{ version: {VERSION}, values: kept }}));
    else localStorage.removeItem("{KEY}");
  }} catch {{ /* storage is full or switched off: nothing is kept */ }}
  return [];
}}"""


def _read(text: object) -> Mapping[str, Any]:
    if not isinstance(text, str) or len(text) > LONGEST:
        return {}
    try:
        kept = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(kept, dict) or kept.get("version") != VERSION or not isinstance(kept.get("values"), dict):
        return {}
    return kept["values"]


def _images(kept: Mapping[str, Any]) -> Values:
    """The set and how it is read: corrections belong to their set and go with it."""
    found: Values = {}
    most = kept.get("max_images")
    if _accepted(lambda: Images(source=DataChoice().source, max_images=most).choice()):
        found["max_images"] = most if most is not None else DataChoice().max_images
    source = kept.get("source", DataChoice().source)
    if not _text(source) or not (source in SOURCES or _accepted(lambda: resolve(source))):
        return found
    subset = kept.get("subset", "")
    if _text(subset) and _accepted(lambda: check_reference(subset, None)):
        found["subset"] = subset
    columns = kept.get("label_columns")
    if isinstance(columns, list) and len(columns) <= _COLUMNS and all(map(_text, columns)):
        found["label_columns"] = columns
    return found | {"source": source} | {name: kept[name] for name in _CORRECTIONS if _text(kept.get(name))}


def _losses(kept: Mapping[str, Any]) -> Values:
    """The slots, filled ones first; the default ones if none is filled."""
    first, shown = defaults(), {loss.name for losses in FAMILIES.values() for loss in losses}
    slots = []
    for field, text in zip(loss_names(), loss_texts(), strict=True):
        name = kept.get(field, first[field])
        if name is not None and not (isinstance(name, str) and name in shown):
            name = first[field]
        if name is not None:
            slots.append((name, _parameters(kept.get(text), LOSSES)))
    if not slots:
        return {}
    slots += [(None, "{}")] * (MAX_LOSSES - len(slots))
    return dict(zip([*loss_names(), *loss_texts()], [*(n for n, _ in slots), *(t for _, t in slots)], strict=True))


def _encoder(kept: Mapping[str, Any]) -> Values:
    chosen = _choice(kept, "encoder", {name: one for name, one in ENCODERS.items() if one.lacking() is None})
    return chosen | {"encoder_parameters": _parameters(kept.get("encoder_parameters"), ENCODERS)}


def _training(kept: Mapping[str, Any]) -> Values:
    """The settings; without any budget the minutes are the default again."""
    found = _fields(Training, kept)
    if not found.get("minutes", True) and not found.get("steps"):
        del found["minutes"]
    return found


def _choice(kept: Mapping[str, Any], field: str, catalogue: Mapping[str, Any]) -> Values:
    name = kept.get(field)
    return {field: name} if isinstance(name, str) and name in catalogue else {}


def _parameters(text: object, catalogue: Mapping[str, Any]) -> str:
    """The text of a parameter panel with what no control could hold left out."""
    try:
        held = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(held, dict):
        return "{}"
    entries = {name: values for name, values in held.items() if name in catalogue and isinstance(values, dict)}
    checked = {name: _fields(catalogue[name].parameters, values) for name, values in entries.items()}
    return json.dumps({name: values for name, values in checked.items() if values})


def _fields(parameters: type, values: Mapping[str, Any]) -> Values:
    """Those values that the check of a start accepts, as their controls hold them; defaults are left out."""
    found: Values = {}
    for spec in specs(parameters):
        value = values.get(spec.name)
        if value is None or (isinstance(value, str) and not _text(value)):
            continue
        try:
            found |= {name: raw(spec, one) for name, one in read(parameters, {spec.name: value}, "Kept").items()}
        except (UserError, ValueError, TypeError, OverflowError):
            continue
    return found


def _accepted(check: Callable[[], object]) -> bool:
    try:
        check()
    except (UserError, OSError, ValueError, TypeError, OverflowError):
        return False
    return True


def _text(value: object) -> bool:
    """Whether it is a text of a length to be typed; halves of letters would break the reply that carries them."""
    return isinstance(value, str) and len(value) <= _TEXT and not _UNSENT.search(value)
