"""Libraries that import parts of each other, wanted by several threads of a page at the same time."""

from __future__ import annotations

import subprocess
import sys

import pytest

BESIDE = """
import threading
from explorer.tabs.object_removal.detecting import detectors
from trainers.encoders import ENCODERS
from trainers.image_text.small import small_tokeniser

def timm():
    parameters = {"model": "resnet18", "pretrained": False}
    ENCODERS["timm"].build(channels=3, side=32, dim=8, parameters=parameters)

begin = threading.Barrier(3)
failed = []

def in_turn(work):
    begin.wait()
    try:
        work()
    except BaseException as error:
        failed.append(repr(error))

threads = [threading.Thread(target=in_turn, args=(work,)) for work in (detectors, lambda: small_tokeniser(32), timm)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(failed, flush=True)
"""


@pytest.mark.long
def test_none_of_them_ends_in_a_deadlock() -> None:
    ended = subprocess.run([sys.executable, "-c", BESIDE], capture_output=True, text=True, timeout=120, check=False)
    assert ended.stdout == "[]\n", ended.stdout + ended.stderr
