"""Counterfactual photos after Kim et al. 2023: take an object out of a photo and its name out of the sentence.

from trainers.object_removal.overlap import judge
from trainers.object_removal.fills import FILLS
from trainers.object_removal.pairs import build_pairs
"""
