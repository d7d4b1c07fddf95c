"""The faults of this folder can be planted in the program as it is."""

from __future__ import annotations

import pytest

from tests.faults.__main__ import ROOT, read_faults


@pytest.mark.parametrize("fault", read_faults().values(), ids=lambda fault: fault.patch.stem)
def test_a_fault_can_be_planted_and_the_tests_named_for_it_are_there(fault) -> None:
    fault.apply(ROOT, "--check")
    for test in fault.tests:
        path, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), test
