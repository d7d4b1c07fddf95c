"""The arithmetic for many GPUs in the documentation is that of the program, and grows as its causes do."""

from __future__ import annotations

import pytest

from tests.benchmarks.processes import ASSUMED, MODELS, PER_GPU, Model, estimate, estimates
from tests.markers import DOCS, between
from trainers.training.own_queries import LARGEST


def test_the_documentation_has_the_table_of_the_program() -> None:
    page = (DOCS / "benchmarks.md").read_text(encoding="utf-8")
    assert between(page, "estimate") == f"{ASSUMED}\n\n{estimates()}"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.title)
def test_causes_grow_as_they_must(model: Model) -> None:
    """The whole loss with the square of the batch, of own rows with the batch; the encoder not at all."""
    most = LARGEST // PER_GPU
    half, whole, shared, twice = (estimate(model, gpus) for gpus in (most // 2, most, 2 * most, 4 * most))
    assert whole["loss"] == pytest.approx(4 * half["loss"]) and twice["loss"] == pytest.approx(2 * shared["loss"])
    assert shared["loss"] < whole["loss"] and half["encoder"] == twice["encoder"]
    assert half["gradients"] < twice["gradients"] < 1.1 * half["gradients"]
    assert bool(model.norms) == (half["statistics"] > 0)
