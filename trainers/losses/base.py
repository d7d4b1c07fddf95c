"""The base class and the descriptor of losses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from trainers.errors import UserError
from trainers.losses._batch import Batch
from trainers.registry import Descriptor


class LossModule(nn.Module):
    """A loss over one batch.

    A subclass writes :meth:`parts`; the loss is their sum. Embeddings come raw and are normalised inside, in at least
    float32 whatever autocast says. Proxies, where a loss has them, are ``self.proxies`` ``[classes * centers, D]``.

    Attributes:
        settings: the loss's checked parameters.
        title: for messages.
        queue: how it uses a cross-batch memory. False: the batch enters it first, and the loss on the batch is added to
            the loss against the memory. True: it is a queue of earlier keys (the last view), and only the loss against
            it counts.
        finest: it reads the finest label level only.
        takes_views: whether several views of an image are not refused.
        takes_gallery: whether a gallery is not refused.
        needs_positives, needs_negatives: a batch without a pair of the kind is refused.
    """

    title = ""
    queue = False
    finest = True
    takes_views = True
    takes_gallery = True
    needs_positives = False
    needs_negatives = False

    def __init__(self, parameters: Any = None, **_classes: Any) -> None:
        """Keep the parameters as ``self.settings``; the rest is as for :meth:`LossDescriptor.build`."""
        super().__init__()
        self.settings = parameters

    def parts(self, batch: Batch) -> dict[str, Tensor]:
        """Return named, already weighted parts of the loss, each a scalar.

        A loss whose definition leaves a query out of its own candidates, positives or pairs treats a query's copy in a
        gallery as it treats the query in the batch: both are ``batch.itself``.

        Raises:
            UserError: the batch does not suit the loss.
        """
        raise NotImplementedError

    def terms(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> dict[str, Tensor]:
        """Return :meth:`parts` of raw embeddings.

        Args:
            embeddings: ``[B, D]`` (``[B, V, D]`` with views), floating, raw.
            labels: ``[B]`` or ``[B, L]`` int64, finest level first.
            gallery: ``[G, D]`` raw, detached by the caller if it should be; None: the batch is its own gallery.
            gallery_labels: ``[G]`` or ``[G, L]``.
            self_index: ``[B]`` (``[B, V]`` with views) int64, the gallery row that is a copy of each embedding, -1
                where none is.

        Raises:
            UserError: the batch has no pair of a kind that is needed, there is a gallery and none is taken, or as
                :meth:`parts`.
        """
        if gallery is not None and not self.takes_gallery:
            raise UserError(
                f"{self.title} compares the images of one batch and takes no gallery. Leave the memory out, or use "
                "SupCon."
            )
        batch = Batch.of(
            embeddings, labels, gallery, gallery_labels, self_index, finest=self.finest, views=self.takes_views
        )
        if self.needs_positives:
            batch.need_positives(self.title)
        if self.needs_negatives:
            batch.need_negatives(self.title)
        return self.parts(batch)

    def forward(
        self,
        embeddings: Tensor,
        labels: Tensor,
        gallery: Tensor | None = None,
        gallery_labels: Tensor | None = None,
        self_index: Tensor | None = None,
    ) -> Tensor:
        """Compute the scalar loss: the sum of :meth:`terms`, of the same arguments."""
        with torch.autocast(device_type=embeddings.device.type, enabled=False):
            parts = self.terms(embeddings, labels, gallery, gallery_labels, self_index)
        return torch.stack(list(parts.values())).sum()


@dataclass(frozen=True, kw_only=True)
class LossDescriptor(Descriptor):
    """One entry of the registry of losses.

    Attributes:
        family: heading in lists, e.g. ``Hierarchical ranking``.
        paper, year, url: where it comes from.
        equation: the formula in LaTeX, no dollar signs.
        unlike: what sets it apart from its nearest neighbour in the registry: ``Unlike TITLE, it ...``, one sentence.
        symbols: meanings of its symbols, by symbols as they stand in it, in LaTeX.
        differs: where its paper and the published code differ: which one the default follows, and how to get the other.
        slow: why it scores less than half of the best loss after equal time on the default encoder, as measured in
            ``docs/encoders.md``; empty for a loss that does not.
        follows_code: of what differs, the default is the code's in something, not the paper's.
        module: called as ``module(parameters, num_classes=, dim=, class_labels=)``.
        advice: called as ``advice(parameters, images_per_class, classes_per_batch)``; a sentence where a run's batches
            do not suit the loss, empty where they do. None: any batch does.
        hierarchy: it uses coarser levels when the labels have them.
        proxies: it learns one or more proxies per class (needs ``num_classes``).
        level_proxies: and so for the classes of every coarser level (needs ``class_labels``).
        views: it uses several augmented views of each image, ``[B, V, D]``; 1 for none.
        labelled: images of a class are positives; False: only the views of an image are, and labels are not looked at.
        gallery: it accepts a separate gallery (cross-batch memory).
        own_queries: its mean is over queries, each of which counts: the losses of parts of a batch's queries against
            the whole batch add up to the loss of the batch. A test decides it.
        whole_batch: values of parameters with which they do not add up, by parameter.
        memory: rows of the memory it trains with where a run asks for none; 0: without.
        proxy_learning_rate: learning rate of the proxies' own Adam; None: the encoder's.
        pair_bytes: memory of one pair of a query and an item at the peak, measured, in float32.
        lists_triplets: its mining lists every triplet of the batch and the memory, which is what takes most memory.
        alias_of: name of the entry that it equals; an alias can be chosen by name and is left out of lists.
        order: place in lists, families by their first loss; 1000 puts a loss last in its family.
    """

    family: str
    paper: str
    year: int
    url: str
    equation: str
    module: Callable[..., LossModule]
    symbols: Mapping[str, str] = field(default_factory=dict, hash=False)
    unlike: str = ""
    differs: str = ""
    slow: str = ""
    follows_code: bool = False
    advice: Callable[[Any, int, int], str] | None = None
    hierarchy: bool = False
    proxies: bool = False
    level_proxies: bool = False
    views: int = 1
    labelled: bool = True
    gallery: bool = False
    own_queries: bool = False
    whole_batch: Mapping[str, frozenset[str]] = field(default_factory=dict, hash=False)
    memory: int = 0
    proxy_learning_rate: float | None = None
    pair_bytes: int = 30
    lists_triplets: bool = False
    alias_of: str | None = None
    order: int = 1000

    def adds_up(self, parameters: Any) -> bool:
        """Return whether the losses of parts of the queries add up to that of the batch, with these parameters."""
        apart = (getattr(parameters, name) in values for name, values in self.whole_batch.items())
        return self.own_queries and not any(apart)

    def build(self, *, num_classes: int, dim: int, class_labels: Tensor | None = None, **parameters: Any) -> LossModule:
        """Make the module.

        Args:
            num_classes: number of finest classes C.
            dim: embedding dimension D.
            class_labels: ``[C, L]`` int64, the label row of each finest class; for losses that need the tree.
            parameters: by name; missing ones take their defaults.

        Raises:
            ParameterError: a parameter is unknown, of the wrong type or out of range.
        """
        return self.module(self.checked(parameters), num_classes=num_classes, dim=dim, class_labels=class_labels)
