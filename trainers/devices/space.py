"""What a Hugging Face Space says of itself in the environment, and ZeroGPU, which lends it a GPU for seconds."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

VOLUME = Path("/data")
"""Where a bucket is mounted, or persistent storage."""
PUBLIC = "RANKSCOPE_PUBLIC"
OFF = {"off", "0", "no", "none", "false"}
_SIGN_IN = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")


def on_space() -> bool:
    """Return whether this program runs in a Space, which serves strangers."""
    return "SPACE_ID" in os.environ or os.environ.get("SYSTEM") == "spaces"


def public() -> bool:
    """Return whether strangers choose what this process reads and trains."""
    return os.environ.get(PUBLIC, "").strip().lower() not in OFF | {""} or on_space()


def signs_in() -> bool:
    """Return whether visitors can sign in with their account of the Hub: a Space with ``hf_oauth: true``."""
    return on_space() and all(os.environ.get(name) for name in _SIGN_IN)


def space_address() -> str:
    """Return the address that shows the Space alone, outside the Hub's frame; empty off a Space."""
    host = os.environ.get("SPACE_HOST", "").split(",")[0].strip() if on_space() else ""
    return f"https://{host}" if host else ""


def repository() -> str:
    """Return the address of the Space's files; empty off a Space."""
    name = os.environ.get("SPACE_ID", "") if on_space() else ""
    return f"https://huggingface.co/spaces/{name}/tree/main" if re.fullmatch(r"[\w.-]+/[\w.-]+", name) else ""


def space_volume() -> Path | None:
    """Return what outlives a restart of the Space; None: nothing does."""
    writable = on_space() and VOLUME.is_mount() and os.access(VOLUME, os.W_OK | os.X_OK)
    return VOLUME if writable else None


_lent = False


def on_zerogpu() -> bool:
    """Return whether this program runs on ZeroGPU, where PyTorch tells every process of the page of a GPU."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")


def without_gpu() -> bool:
    """Return whether the GPU that PyTorch tells of cannot be used: on ZeroGPU, while it is not lent to this process."""
    return on_zerogpu() and not _lent


@contextlib.contextmanager
def lent() -> Iterator[None]:
    """Mark that this process has been lent a GPU."""
    global _lent
    before, _lent = _lent, True
    try:
        yield
    finally:
        _lent = before
