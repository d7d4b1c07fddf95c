"""The choices of a visitor in the sidebar, kept by their own browser and checked when they come back.

The browser keeps only what differs from the defaults, in its own storage; the server keeps nothing. What comes back may
be old or made up: every value passes the check of a start, and what does not pass is its default again, without a word.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from explorer.page.controls import raw, read
from trainers.errors import UserError
from trainers.parameters import specs

VERSION = 1
"""Version of what is kept; values of another version are dropped."""
KEY = "rankscope-settings"
"""Under which the browser keeps it."""
LONGEST = 50_000  # characters kept; the page itself writes a fifth of that at most
_TEXT = 300  # letters of one text
_UNSENT = re.compile(r"[\0\ud800-\udfff]")

Values = dict[str, Any]


def keeping(defaults: Values, key: str = KEY, restored: str = "rankscopeRestored") -> str:
    """Return JavaScript that takes the values of all fields, in the order of ``defaults``, and keeps what was changed.

    It waits for the page to have restored them, when it sets ``restored`` of the window: what Gradio shows before that
    is nobody's choice.
    """
    return f"""(...values) => {{
  const defaults = {json.dumps(defaults)};
  const changed = Object.entries(defaults).map(([name, value], i) => [name, value, values[i] ?? null])
    .filter(([, before, now]) => JSON.stringify(before) !== JSON.stringify(now));
  try {{
    if (!window.{restored}) return [];
    const kept = Object.fromEntries(changed.map(([name, , now]) => [name, now]));
    if (changed.length) localStorage.setItem("{key}", JSON.stringify({{ version: {VERSION}, values: kept }}));
    else localStorage.removeItem("{key}");
  }} catch {{ /* storage is full or switched off: nothing is kept */ }}
  return [];
}}"""


def kept(text: object) -> Mapping[str, Any]:
    """Read the values in JSON as :func:`keeping` writes it; nothing of anything else."""
    if not isinstance(text, str) or len(text) > LONGEST:
        return {}
    try:
        held = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(held, dict) or held.get("version") != VERSION or not isinstance(held.get("values"), dict):
        return {}
    values: Mapping[str, Any] = held["values"]
    return values


def choice(kept: Mapping[str, Any], field: str, catalogue: Mapping[str, Any]) -> Values:
    """Return the value of a field that holds a name of ``catalogue``, if it is one."""
    name = kept.get(field)
    return {field: name} if isinstance(name, str) and name in catalogue else {}


def parameters_text(text: object, catalogue: Mapping[str, Any]) -> str:
    """Leave out of the text of a parameter panel what no control could hold."""
    try:
        held = json.loads(text) if isinstance(text, str) else {}
    except (ValueError, RecursionError):
        return "{}"
    if not isinstance(held, dict):
        return "{}"
    entries = {name: values for name, values in held.items() if name in catalogue and isinstance(values, dict)}
    checked = {name: settings(catalogue[name].parameters, values) for name, values in entries.items()}
    return json.dumps({name: values for name, values in checked.items() if values})


def settings(parameters: type, values: Mapping[str, Any], only: Iterable[str] | None = None) -> Values:
    """Select the values that the check of a start accepts, as their controls hold them; defaults are left out."""
    usable: Values = {}
    for spec in specs(parameters):
        if only is not None and spec.name not in only:
            continue
        value = values.get(spec.name)
        texts = [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]
        if value is None or not all(map(is_text, texts)):
            continue
        try:
            usable |= {name: raw(spec, one) for name, one in read(parameters, {spec.name: value}, "Kept").items()}
        except (UserError, ValueError, TypeError, OverflowError):
            continue
    return usable


def accepted(check: Callable[[], object]) -> bool:
    """Return whether a check passes."""
    try:
        check()
    except (UserError, OSError, ValueError, TypeError, OverflowError):
        return False
    return True


def is_text(value: object) -> bool:
    """Return whether it is a text of a length to be typed; lone surrogates would break the reply that carries them."""
    return isinstance(value, str) and len(value) <= _TEXT and not _UNSENT.search(value)
