"""Photographs of groceries, a part of Grocery Store (Klasson et al., WACV 2019) that comes with the program.

54 products in 27 kinds in 3 categories, 20 photographs of each; 34 products are for training and 20 others for testing.
"""

from __future__ import annotations

from dataclasses import dataclass

from trainers.data.labelled.datasets.known import Known
from trainers.data.sources import SHIPPED

NAME, IMAGES = "groceries", 1_080
FILE = SHIPPED[NAME]
"""Written by ``python -m tests.make.groceries``; licence and source lie beside it."""


@dataclass(frozen=True, kw_only=True)
class Shipped(Known):
    """A dataset that is always here."""

    def missing(self, _parameters: object) -> str | None:
        """Return None: it can be had."""
        return None


DESCRIPTOR = Shipped(
    name=NAME,
    title="Groceries",
    sentence=f"{IMAGES:,} photographs of 54 products in shops, with kind and category; they come with the program.",
    hub=NAME,
    licence="MIT",
    label_columns=None,
    levels=("product", "kind", "category"),
).descriptor(order=0)
