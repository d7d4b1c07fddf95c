"""A source that cannot be opened is refused before a run is queued, on one's own machine too."""

from __future__ import annotations

import pytest

from explorer.page.kinds.metric_learning import configuration
from trainers.config import DataChoice
from trainers.errors import DataError
from trainers.kinds import KINDS, check


@pytest.mark.parametrize("source", ["/nope", "./nope", "no such thing", "a/b/c"])
def test_it_is_named_at_once(source: str) -> None:
    for kind in ("metric_learning", "contrastive"):
        with pytest.raises(DataError, match=r"nope|no such thing|a/b/c"):
            check(KINDS[kind].config(data=DataChoice(source=source)))
    with pytest.raises(DataError):
        configuration(["supcon"], source)
