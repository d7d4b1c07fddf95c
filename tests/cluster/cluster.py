"""A Ray cluster of processes of this machine, whose nodes can be killed."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from trainers.cluster.address import MODE, TOKEN, VARIABLE

READY_SECONDS = 90.0


class Cluster:
    """A head, whose processes are its machine's, and further nodes; every node has so many processors."""

    def __init__(self, processors: int) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.address = f"127.0.0.1:{port}"
        self._processors = processors
        # Ray's workers are nice: beside other programs they would get nothing of a small machine
        self._token = {MODE: TOKEN, "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_worker_niceness": "0"}
        self.nodes = [self._started("--head", "--port", str(port), "--include-dashboard=false")]
        self._wait(f"import socket; socket.create_connection(('127.0.0.1', {port})).close()")

    @property
    def environment(self) -> Mapping[str, str]:
        """What a program needs to place runs there."""
        return {**os.environ, **self._token, VARIABLE: self.address}

    def add(self) -> int:
        """Add a node; returns its number."""
        self.nodes.append(self._started("--address", self.address))
        count = len(self.nodes) * self._processors
        self._wait(f"from trainers.cluster.holding import slots; assert slots() == {count}")
        return len(self.nodes) - 1

    def asked(self, program: str, *words: str) -> str:
        """What a program prints that places runs there, after ``ray = connected()``."""
        first = f"from trainers.cluster.address import connected; ray = connected()\n{program}"
        command = [sys.executable, "-c", first, *words]
        done = subprocess.run(command, env=dict(self.environment), capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def kill(self, number: int) -> None:
        """Kill a node and all that runs on it, at once."""
        node = psutil.Process(self.nodes[number].pid)
        for process in (*node.children(recursive=True), node):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self.nodes[number].wait()

    def close(self) -> None:
        """Kill every node that is left."""
        for number, node in enumerate(self.nodes):
            if node.poll() is None:
                self.kill(number)

    def _started(self, *words: str) -> subprocess.Popen[bytes]:
        ray = Path(sys.executable).with_name("ray")
        size = ["--num-cpus", str(self._processors), "--num-gpus", "0", "--object-store-memory", "100000000"]
        command = [str(ray), "start", *words, *size, "--disable-usage-stats", "--block"]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(command, env={**os.environ, **self._token}, stdout=quiet, stderr=quiet, stdin=quiet)

    def _wait(self, program: str) -> None:
        until = time.monotonic() + READY_SECONDS
        while subprocess.run(
            [sys.executable, "-c", program], env=dict(self.environment), capture_output=True
        ).returncode:
            assert time.monotonic() < until, "the cluster is not ready"
            time.sleep(0.5)
