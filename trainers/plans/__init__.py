"""Plans: what says which runs of some kind are trained, in which order, and what came of them."""

from trainers.plans import fair_comparison, sweep
from trainers.plans.base import Plan
from trainers.registry import in_order

PLANS = in_order({plan.name: plan for plan in (sweep.DESCRIPTOR, fair_comparison.DESCRIPTOR)})

__all__ = ["PLANS", "Plan"]
