"""The decomposability gap: how much better a metric looks inside batches than on the whole set."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from trainers.devices.host import host, send
from trainers.errors import UserError
from trainers.metrics.blocks import ranked_blocks
from trainers.metrics.names import parse
from trainers.metrics.scores import score, score_blocks


def decomposability_gap(
    embeddings: Tensor, labels: Tensor, batch_id: Tensor, metric: str = "AP", per_query: bool = False
) -> dict[str, float | np.ndarray]:
    """Return DG(q) = mean over batches b of M_b(q), minus M(q): M_b searches batch b alone, M the whole set.

    Ramzi et al., "Robust and Decomposable Average Precision for Image Retrieval", NeurIPS 2021. The query is removed
    from its own batch and from the whole set; a batch without a positive for the query, in which AP is not defined, is
    left out of its mean. Both are our reading: no code of it was published.

    Args:
        embeddings: ``[N, D]`` floating, raw.
        labels: ``[N]`` or ``[N, L]`` integers, finest first.
        batch_id: ``[N]`` integers, the batch of each item.
        metric: any name of :func:`trainers.metrics.evaluate`.
        per_query: arrays ``[N]``, NaN for queries without a positive, instead of means over the others.

    Returns:
        ``metric``, ``mean_batch_<metric>`` and ``gap``.

    Raises:
        UserError: shapes do not fit or the metric is unknown.
    """
    batch_id = torch.as_tensor(batch_id)
    if batch_id.shape != (len(embeddings),):
        raise UserError(
            f"The decomposability gap needs one batch number per embedding, [{len(embeddings)}]; "
            f"got {list(batch_id.shape)}."
        )
    whole = score(embeddings, labels, metrics=[metric]).values[metric]
    inside = inside_batches(embeddings, labels, batch_id, metric)
    gaps = {metric: whole, f"mean_batch_{metric}": inside, "gap": inside - whole}
    if per_query:
        return gaps
    defined = ~np.isnan(gaps["gap"])
    return {name: float(value[defined].mean()) if defined.any() else float("nan") for name, value in gaps.items()}


def inside_batches(embeddings: Tensor, labels: Tensor, batch_id: Tensor, metric: str) -> np.ndarray:
    """Return the mean over batches b of M_b(q), see :func:`decomposability_gap`, whose arguments these are.

    Returns:
        float64 ``[N]``, NaN for queries without a positive in any batch.
    """
    columns, batches_of = host(torch.as_tensor(labels)).reshape(len(embeddings), -1), host(batch_id)
    chosen = (parse(metric, columns.shape[1]),)
    total, batches = np.zeros(len(columns)), np.zeros(len(columns))
    for batch in np.unique(batches_of):
        member = batches_of == batch
        rows = np.flatnonzero(member)
        # A batch without a class of the query at any level has no positive for it.
        asked = np.flatnonzero(np.any([np.isin(column, column[rows]) for column in columns.T], axis=0))
        self_index = np.where(member, member.cumsum() - 1, -1)[asked]
        with torch.no_grad():
            queries, some = (embeddings[send(index, embeddings.device)] for index in (asked, rows))
            blocks = ranked_blocks(queries, columns[asked], some, columns[rows], self_index)
            values = score_blocks(blocks, chosen).values[metric]
        total[asked] += np.nan_to_num(values)
        batches[asked] += ~np.isnan(values)
    means = np.full(len(columns), np.nan)
    np.divide(total, batches, out=means, where=batches > 0)
    return means
