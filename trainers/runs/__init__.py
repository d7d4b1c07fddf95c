"""The run folder: all that the processes share, and the unit that is resumed, exported and reopened."""

from trainers.runs.checked import is_id
from trainers.runs.folder import RunFolder, list_runs, new_id

__all__ = ["RunFolder", "is_id", "list_runs", "new_id"]
