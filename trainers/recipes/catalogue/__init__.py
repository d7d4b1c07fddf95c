"""One file per recipe. To add a recipe, add a file with a ``DESCRIPTOR``."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from trainers.recipes.base import Recipe
from trainers.registry import load

RECIPES: Mapping[str, Recipe] = load(sys.modules[__name__])
