"""Numbers that are read a step late: what was wrong comes out, and nothing is read too soon."""

from __future__ import annotations

import pytest
import torch

from trainers.training.deferred import HostCopy, Late, depth_for


def test_each_reading_comes_in_order_and_so_many_later() -> None:
    for depth in (0, 1, 2):
        late, seen = Late(depth), []
        for number in range(4):
            late.read(torch.tensor([float(number)]), seen.extend)
            assert seen == [float(n) for n in range(max(0, number + 1 - depth))]
        late.settle()
        assert seen == [0.0, 1.0, 2.0, 3.0]


def test_what_was_wrong_stays_wrong() -> None:
    late, seen = Late(1), []

    def refuse(_values: list[float]) -> None:
        raise ValueError("bad")

    late.read(torch.zeros(1), refuse)
    for _ in range(2):
        with pytest.raises(ValueError, match="bad"):
            late.read(torch.zeros(1), seen.extend)
    with pytest.raises(ValueError, match="bad"):
        late.settle()
    assert not seen


def test_the_cpu_is_read_at_once_and_its_tensors_are_not_copied() -> None:
    values = torch.rand(3)
    assert HostCopy(values).get().data_ptr() == values.data_ptr()
    assert depth_for(torch.device("cpu")) == 0 and depth_for(torch.device("cuda", 1)) == 1
