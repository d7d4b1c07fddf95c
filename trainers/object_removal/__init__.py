"""Object removal after Kim et al. 2023: takes an object out of an image and its name out of the caption.

from trainers.object_removal.overlap import judge
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import build_pairs
"""
