"""Fine-tuning an image-text model on images and on object-removed images (Kim et al. 2023, 3.3)."""

from trainers.kinds.finetuning.kind import Finetuning

DESCRIPTOR = Finetuning()
