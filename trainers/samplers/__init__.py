"""The samplers: which rows make up batch number ``step``.

from trainers.samplers import SAMPLERS
sampler = SAMPLERS["m_per_class"].build(labels, 16, 4, 0)
rows = sampler.batch(step)
"""

import sys

from trainers.registry import load
from trainers.samplers.base import Sampler, SamplerDescriptor

SAMPLERS = load(sys.modules[__name__])

__all__ = ["SAMPLERS", "Sampler", "SamplerDescriptor"]
