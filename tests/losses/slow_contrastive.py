"""The contrastive, contextual and proxy losses as loops over pairs, in float64."""

from __future__ import annotations

import math

import torch


def rows_of(emb: torch.Tensor) -> torch.Tensor:
    return emb.double() / emb.double().norm(dim=-1, keepdim=True)


def supcon(emb, labels, temperature, base, *, inside=False, mode="all"):
    """``emb [B, V, D]``; view-major order."""
    batch, views, _ = emb.shape
    x = rows_of(emb)
    items = [(x[i, v], int(labels[i])) for v in range(views) for i in range(batch)]
    anchors = range(batch if mode == "one" else batch * views)
    total = torch.zeros((), dtype=torch.float64)
    for a in anchors:
        others = [b for b in range(len(items)) if b != a]
        weights = {b: torch.exp(items[a][0] @ items[b][0] / temperature) for b in others}
        whole = sum(weights.values())
        positives = [b for b in others if items[b][1] == items[a][1]]
        if positives:
            shares = [weights[b] / whole for b in positives]
            if inside:
                total = total - torch.log(sum(shares) / len(shares))
            else:
                total = total - sum(torch.log(share) for share in shares) / len(shares)
    return total / len(anchors) * temperature / base


def contextual_similarity(emb, k, eps):
    """w of the contextual loss, value alone."""
    x = rows_of(emb)
    n = len(x)
    d = [[max(float(2 - 2 * (x[i] @ x[j])), 0.0) for j in range(n)] for i in range(n)]

    def neighbours(i, size):
        radius = sorted(d[i])[size - 1] + eps
        return {j for j in range(n) if d[i][j] <= radius}

    near = [neighbours(i, k) for i in range(n)]
    close = [neighbours(i, k // 2) for i in range(n)]
    everyone = set(range(n))
    w1 = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        for j in near[i]:
            both, neither = near[i] & near[j], everyone - near[i] - near[j]
            w1[i, j] = (len(both) / len(near[i]) + len(neither) / (n - len(near[i]))) / 2
    w2 = torch.zeros(n, n, dtype=torch.float64)
    for i in range(n):
        mutual = [p for p in close[i] if i in close[p]]
        w2[i] = sum(w1[p] for p in mutual) / len(mutual)
    return (w2 + w2.T) / 2


def contextual_parts(emb, labels, w, pos_margin, neg_margin, target):
    x = rows_of(emb)
    n = len(x)
    context, pull, push, mean = 0.0, [], [], 0.0
    for i in range(n):
        for j in range(n):
            s = x[i] @ x[j]
            mean = mean + s / n**2
            if i != j:
                same = bool(labels[i] == labels[j])
                context = context + (float(same) - w[i, j]) ** 2 / n**2
                (pull if same else push).append(pos_margin - s if same else s - neg_margin)
    contrast = torch.zeros((), dtype=torch.float64)
    for hinges in (pull, push):
        active = [h for h in hinges if h > 0]
        contrast = contrast + (sum(active) / len(active) if active else 0.0)
    return {"context": context, "contrast": contrast, "regulariser": (mean - target) ** 2}


def csl(emb, labels, proxies, proxy_labels, margins, scale):
    x, p = rows_of(emb), rows_of(proxies)
    total = torch.zeros((), dtype=torch.float64)
    for level, margin in enumerate(margins):
        for i in range(len(x)):
            own = sum(torch.exp(-scale * (x[i] @ p[k])) for k in range(len(p)) if proxy_labels[k, 0] == labels[i, 0])
            others = [k for k in range(len(p)) if proxy_labels[k, level] != labels[i, level]]
            if others:
                rest = sum(torch.exp(scale * (x[i] @ p[k])) for k in others)
                total = total + torch.log1p(rest * own * math.exp(scale * margin)) / len(x)
    return total


def xbm_contrastive(emb, labels, ref, ref_labels, margin, cutoff):
    x, y = rows_of(emb), rows_of(ref)
    total = torch.zeros((), dtype=torch.float64)
    for i in range(len(x)):
        for j in range(len(y)):
            s = x[i] @ y[j]
            if labels[i] == ref_labels[j] and s < cutoff:
                total = total + (1 - s) / len(x)
            if labels[i] != ref_labels[j] and s > margin:
                total = total + s / len(x)
    return total


def grad(loss: torch.Tensor, leaf: torch.Tensor) -> torch.Tensor:
    return torch.autograd.grad(loss, leaf, retain_graph=True)[0]
