"""What does a model look at? Takes objects out of images, and asks what it then names (Kim et al. 2023) or finds.

from trainers.object_removal.removal import Target
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import build_pairs
from trainers.object_removal.reliance.measure import measure
"""
