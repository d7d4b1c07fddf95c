"""The run folder: the only thing that the processes share, and the unit that is resumed, exported and reopened."""

from trainers.store.folder import RunFolder, list_runs, new_id

__all__ = ["RunFolder", "list_runs", "new_id"]
