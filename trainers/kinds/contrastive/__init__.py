"""Contrastive pretraining: momentum contrast (He et al. 2020), SimCLR, SupCon (Khosla et al. 2020) and baselines."""

from trainers.kinds.contrastive.kind import Contrastive

DESCRIPTOR = Contrastive()
