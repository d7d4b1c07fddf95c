"""A watch on an address of the server: what changes there makes an event here, and nothing else costs one."""

from __future__ import annotations

from typing import Any

from explorer.components.drawn import Drawn


class Watch(Drawn):
    """Asks an address every few seconds while its tab is seen; ``moved`` is triggered when the answer has changed.

    The answer is JSON with a ``revision``, and ``moving`` where it should be asked for every second. Whatever else of
    the page changes a run triggers it at once.

    Args:
        address: JavaScript of a function that returns the address below that of all routes; empty: nothing to ask for.
    """

    def __init__(self, address: str = "() => ''", **options: Any) -> None:
        events = f'address: {address}, moved: () => trigger("moved")'
        super().__init__("watch", "rs-watch", "What changes", events, **options)
