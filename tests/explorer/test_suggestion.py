"""The image that is shown first: one about which the losses differ as they do on average."""

from __future__ import annotations

import numpy as np

from explorer.tabs.live.suggestion import most_telling
from tests.explorer.page import Page
from tests.synthetic import make_run

LABELS = np.array([[0, 0], [0, 0], [0, 0], [1, 0], [1, 0], [2, 1], [2, 1], [2, 1]])


def test_it_is_the_largest_difference_in_the_direction_of_the_average() -> None:
    first = np.array([[1, 2], [0, 2], [0, 1], [4, 0], [3, 0], [6, 7], [5, 7], [0, 1]])
    second = np.array([[1, 5], [0, 5], [5, 6], [4, 5], [3, 5], [0, 1], [5, 0], [5, 6]])
    # the first arm is the better one on average; image 7, which it gets wrong, is the second arm's best
    assert most_telling(np.stack([first, second]), LABELS) == 2
    assert most_telling(np.stack([second, first]), LABELS) == 2


def test_it_may_be_a_coarser_level_that_tells() -> None:
    first = np.array([[3, 4], [3, 4], [3, 4], [0, 1], [0, 1], [6, 7], [5, 7], [5, 6]])
    second = np.array([[3, 4], [3, 4], [5, 6], [0, 1], [0, 1], [6, 7], [5, 7], [5, 6]])
    assert most_telling(np.stack([first, second]), LABELS) == 2


def test_of_one_loss_it_is_an_image_that_is_half_right() -> None:
    results = np.array([[1, 2], [0, 2], [0, 1], [4, 3], [3, 0], [6, 7], [5, 7], [5, 6]])
    assert most_telling(results[None], LABELS) == 4


def test_the_page_asks_for_it(page: Page, root) -> None:
    folder = make_run(root, points=48, frames=2)
    assert 0 <= page.json(f"run/{folder.id}/suggestion/1")["index"] < 48
    assert page.get(f"run/{folder.id}/suggestion/9").status_code == 404
