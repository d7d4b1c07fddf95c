"""Chooses when the maps get their next frame: often while the embeddings move, seldom once they have settled."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

CLOSEST_SECONDS = 1.0  # a map that moves about once a second looks continuous when points glide half a second
WIDEST_SECONDS = 5.0  # with a step and the evaluation on top, a map is never older than six seconds
FIRST_FRAMES = 12  # the first frames come at the shortest interval: the visitor has just pressed Train and is watching
MOST_SHARE = 3.0  # the next evaluation waits three times as long as the last one took: a quarter of the time at most
USUAL_SHARE = 10.0  # after the first frames ten times, an eleventh of the time, unless the map would be too old
STRIDE = 0.1  # mean 1 - cosine that one frame should show; at full learning rate it is 0.1 to 0.3 a second
_QUICKEST, _SLOWEST = 0.5, 1.5  # most that one frame changes the distance to the next


class Pace:
    """Chooses the seconds between two frames from how far the probe's embeddings moved between the last two.

    Weights never depend on it, so a resumed run need not repeat the frames of an uninterrupted one.

    Attributes:
        seconds: training time from the last frame to the next, before the cost of an evaluation is counted.
        motion: mean 1 - cosine between the last two frames, of the arm that moved most; None before the second.
    """

    def __init__(self) -> None:
        self.seconds = CLOSEST_SECONDS
        self.motion: float | None = None
        self._frames = 0
        self._last: Sequence[Tensor] | None = None
        self._at = 0.0

    def add(self, k: int, seconds: float, embeddings: Sequence[Tensor]) -> None:
        """Record that frame ``k`` was made at ``seconds`` of training, from unit rows float ``[P, D]`` of each arm."""
        if self._last is not None:
            moved = [1 - (new * old).sum(1).mean().item() for new, old in zip(embeddings, self._last, strict=True)]
            self.motion = max(0.0, *moved)  # rounding can give a tiny negative number at equal weights
            passed = max(seconds - self._at, CLOSEST_SECONDS)
            factor = min(_SLOWEST, max(_QUICKEST, STRIDE / max(self.motion, 1e-9)))
            self.seconds = min(WIDEST_SECONDS, max(CLOSEST_SECONDS, passed * factor))
        self._last, self._at, self._frames = embeddings, seconds, k + 1
        if self._frames < FIRST_FRAMES:
            self.seconds = CLOSEST_SECONDS

    def due(self, passed: float, cost: float) -> bool:
        """Return whether a frame is due ``passed`` seconds of training after the last, which took ``cost`` seconds."""
        usual = USUAL_SHARE * cost if self._frames >= FIRST_FRAMES else 0.0
        return passed >= max(min(max(self.seconds, usual), WIDEST_SECONDS), MOST_SHARE * cost)
