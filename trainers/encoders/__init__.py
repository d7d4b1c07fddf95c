"""The encoders: image batch in, raw embedding out. One family per file.

from trainers.encoders import ENCODERS
encoder = ENCODERS["conv4"].build(channels=3, side=64, dim=64, parameters={})
"""

import sys

from trainers.encoders.base import Encoder, EncoderDescriptor
from trainers.registry import load

ENCODERS = load(sys.modules[__name__])

__all__ = ["ENCODERS", "Encoder", "EncoderDescriptor"]
