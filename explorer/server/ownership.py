"""Who a run belongs to: a visitor's browser keeps a random token, the run folder keeps only its digest."""

from __future__ import annotations

import hashlib


def digest(token: str) -> str:
    """Digest of a visitor's token, 32 hexadecimal digits; empty for an empty token (nobody in particular)."""
    return hashlib.sha256(token.encode()).hexdigest()[:32] if token else ""
