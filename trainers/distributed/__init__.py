"""Several processes that train one run together, over ``torch.distributed``.

Each takes its share of the global batch, the whole loss is computed in every one, and gradients are added. With one
process every function here does nothing.
"""
