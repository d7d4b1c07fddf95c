"""The rest of an executor whose runs have ended when they are launched."""

from __future__ import annotations


class AtOnce:
    """No run is ever under way; ``free`` and ``launch`` are those of a subclass."""

    def holds(self, run_id: str) -> bool:
        return False

    def reap(self) -> tuple[()]:
        return ()

    def kill(self, run_id: str) -> None: ...

    def close(self) -> None: ...
