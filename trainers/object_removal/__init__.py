"""Objects taken out of images, and what a model then names (Kim et al. 2023) or finds: what it looks at.

from trainers.object_removal.removal import Target from trainers.object_removal.fills import FILLS from
trainers.object_removal.pairs import build_pairs from trainers.object_removal.reliance.measure import measure
"""
