"""When the maps get their next frame: often while the embeddings move, seldom once they have settled."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

CLOSEST_SECONDS = 1.0  # a map that moves about once a second looks continuous when points glide half a second
WIDEST_SECONDS = 5.0  # with a step and the look on top, a map is never older than six seconds
SHARE = 3.0  # a look may cost a quarter of the time: it waits three times what the last one took
FIRST_FRAMES = 12  # so many come as close as they may: whoever has just pressed Start watches
STRIDE = 0.02  # mean 1 - cosine that one frame should show
_QUICKEST, _SLOWEST = 0.5, 1.5  # most that one frame changes the distance to the next


class Pace:
    """Chooses the seconds between two frames from how far the probe's embeddings moved between the last two.

    Attributes:
        seconds: from the last frame to the next, of training time.
        motion: mean 1 - cosine between the last two frames, of the arm that moved most; None before the second.
    """

    def __init__(self) -> None:
        self.seconds = CLOSEST_SECONDS
        self.motion: float | None = None
        self._last: Sequence[Tensor] | None = None
        self._at = 0.0

    def saw(self, k: int, seconds: float, embeddings: Sequence[Tensor]) -> None:
        """Frame ``k`` was made at ``seconds`` of training, from unit rows float ``[P, D]`` of each arm."""
        if self._last is not None:
            moved = [1 - (new * old).sum(1).mean().item() for new, old in zip(embeddings, self._last, strict=True)]
            self.motion = max(moved)
            passed = max(seconds - self._at, CLOSEST_SECONDS)
            factor = min(_SLOWEST, max(_QUICKEST, STRIDE / max(self.motion, 1e-9)))
            self.seconds = min(WIDEST_SECONDS, max(CLOSEST_SECONDS, passed * factor))
        if k < FIRST_FRAMES:
            self.seconds = CLOSEST_SECONDS
        self._last, self._at = embeddings, seconds

    def due(self, passed: float, cost: float) -> bool:
        """Whether the next frame is due ``passed`` seconds of training after the last, which took ``cost`` seconds."""
        return passed >= max(self.seconds, SHARE * cost)
