"""Methods of contrastive training, one file each; a new file here is in the lists at once."""

import sys

from trainers.kinds.contrastive.methods.base import (
    Method,
    MethodDescriptor,
    MethodOutcome,
    MethodParameters,
    Needs,
    Parts,
    Views,
)
from trainers.registry import load

METHODS = load(sys.modules[__name__])

__all__ = ["METHODS", "Method", "MethodDescriptor", "MethodOutcome", "MethodParameters", "Needs", "Parts", "Views"]
