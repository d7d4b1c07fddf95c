"""Counterfactual photos after Kim et al. 2023: take an object out of a photo and its name out of the sentence.

from trainers.removal.rules import judge
from trainers.removal.fills import FILLS
from trainers.removal.pairs import build_pairs
"""
