"""What a Hugging Face Space says of itself in the environment of the programs that it runs."""

from __future__ import annotations

import os
from pathlib import Path

VOLUME = Path("/data")
"""Where a bucket is mounted, or persistent storage."""
_SIGN_IN = ("OAUTH_CLIENT_ID", "OAUTH_CLIENT_SECRET", "OAUTH_SCOPES", "OPENID_PROVIDER_URL")


def on_space() -> bool:
    """Return whether this program runs in a Space, which serves strangers."""
    return "SPACE_ID" in os.environ or os.environ.get("SYSTEM") == "spaces"


def signs_in() -> bool:
    """Return whether visitors can sign in with their account of the Hub: a Space with ``hf_oauth: true``."""
    return on_space() and all(os.environ.get(name) for name in _SIGN_IN)


def space_address() -> str:
    """Return the address that shows the Space alone, outside the Hub's frame; empty off a Space."""
    host = os.environ.get("SPACE_HOST", "").split(",")[0].strip() if on_space() else ""
    return f"https://{host}" if host else ""


def space_volume() -> Path | None:
    """Return what outlives a restart of the Space; None: nothing does."""
    writable = on_space() and VOLUME.is_mount() and os.access(VOLUME, os.W_OK | os.X_OK)
    return VOLUME if writable else None
