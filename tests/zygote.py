"""Starts ``python -m trainers``, trainers and their like from a process that has imported what these import.

Importing takes seconds, a fork milliseconds. :func:`install` changes how :class:`subprocess.Popen` starts a child: a
module of :data:`STARTED` begins in a process that is forked from a *zygote*, which has one thread, imports and forks.
The forked process is a child of whoever asked for it, with a number, an exit status and signals of its own: once the
fork in between has ended, the kernel gives it to the nearest subreaper among its ancestors. It runs the module as
``__main__`` and ends as the interpreter does. A fork of it, made before its first thread, is its children's zygote.

All else starts cold: other flags of Python, other systems than Linux, and an environment that differs in a variable
that may be read on import, that is, in any that is not in :data:`READ_LATE`.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import re
import runpy
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

from trainers.training.parent_watch import leave

ROOT = Path(__file__).resolve().parents[1]
IMPORTED = (
    *("trainers.cli.main", "trainers.worker", "trainers.plans.runner", "trainers.kinds.metric_learning.loop"),
    *("trainers.kinds.contrastive.loop", "trainers.data.labelled.loader", "trainers.data.source_check"),
    *("trainers.distributed.group", "torch._dynamo", "huggingface_hub.repocard"),
)
STARTED = re.compile(r"(trainers|tests\.distributed)(\..+)?")
"""The modules that are forked."""
THREADS = "OMP_NUM_THREADS"
READ_LATE = re.compile(
    rf"{THREADS}|PYTHONPATH|RANKSCOPE_(?!KINDS|PLUGINS_FAILED|LOOK_SECONDS)\w+"
    r"|(GRADIO|PYTEST|TORCHELASTIC|SLURM)_\w+|COLUMNS|LINES"
    "|SETTINGS|LARGEST|STOP_AFTER|NORM|FAILS"  # of tests.distributed
    "|(LOCAL_)?RANK|WORLD_SIZE|MASTER_(ADDR|PORT)|CUDA_VISIBLE_DEVICES|PWD|OLDPWD|SHLVL|_"
    # what cv2, timm, open_clip and umap set when they are imported; ray is imported late
    r"|LD_LIBRARY_PATH|TORCHINDUCTOR_CACHE_DIR|TOKENIZERS_PARALLELISM|KMP_DUPLICATE_LIB_OK|KMP_INIT_AT_FORK|RAY_\w+"
)
"""Variables that are read when they are needed; of the first two :func:`_become` does what libraries do on import."""
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
_start_cold = subprocess.Popen._execute_child  # type: ignore[attr-defined]


class Zygote:
    """The end of whoever asks for processes.

    Args:
        asked: a socket whose other end the zygote reads.
        environment: with which it imported.
        process: the zygote, if it was started here.
    """

    def __init__(
        self, asked: socket.socket, environment: Mapping[str, str], process: subprocess.Popen[bytes] | None = None
    ) -> None:
        self._asked = asked
        self._environment = environment
        self._process = process
        self._lock = threading.Lock()
        self._libc = ctypes.CDLL(None)

    def takes(self, environment: Mapping[str, str], folder: str) -> bool:
        """Whether it imported what a process with this environment would import that starts in a folder."""
        changed = dict(environment.items() ^ self._environment.items())
        paths, known = (_paths(one) for one in (environment, self._environment))
        found = ROOT in map(Path, (folder, *paths)) and set(paths) <= {*known, str(ROOT)}
        return found and THREADS in environment and all(map(READ_LATE.fullmatch, changed))

    def start(self, files: Sequence[int], **told: Any) -> int:
        """The number of a new child of this process; ``files`` are its standard input, output and error."""
        words = json.dumps({**told, "parent": os.getpid()}).encode()
        with self._lock:
            self._libc.prctl(_SUBREAPER, 1, 0, 0, 0)
            try:
                socket.send_fds(self._asked, [struct.pack("I", len(words))], files)
                self._asked.sendall(words)
                answer = self._asked.recv(4)
            finally:
                self._libc.prctl(_SUBREAPER, 0, 0, 0, 0)
        if not answer:
            raise RuntimeError("A zygote has ended; why, it has printed.")
        return int(struct.unpack("I", answer)[0])

    def close(self) -> None:
        """Let it end, and wait, so that its time is counted."""
        self._asked.close()
        if self._process is not None:
            self._process.wait()


_zygotes: list[Zygote] = []
_making = threading.RLock()


def install() -> None:
    """Have this process start the modules of :data:`STARTED` from zygotes, where the system can."""
    if sys.platform == "linux":
        subprocess.Popen._execute_child = _start  # type: ignore[attr-defined]


def close() -> None:
    """Start everything cold again, and end the zygotes."""
    subprocess.Popen._execute_child = _start_cold  # type: ignore[attr-defined]
    while _zygotes:
        _zygotes.pop().close()


@contextlib.contextmanager
def cold() -> Iterator[None]:
    """What starts inside, in any thread, starts as it does for people."""
    before = subprocess.Popen._execute_child  # type: ignore[attr-defined]
    subprocess.Popen._execute_child = _start_cold  # type: ignore[attr-defined]
    try:
        yield
    finally:
        subprocess.Popen._execute_child = before  # type: ignore[attr-defined]


def _start(self: Any, args: Any, executable: Any, preexec: Any, *more: Any) -> None:
    """See ``subprocess.Popen._execute_child``."""
    close, passed, cwd, env, _info, _flags, shell, reads, writes, output, outputs, errors, error, *rest = more
    _restore, gid, gids, uid, umask, session, group = rest
    environment, folder = dict(os.environ if env is None else env), os.fspath(cwd or Path.cwd())
    special = not close or executable or preexec or passed or shell or (gid, gids, uid, umask) != (None, None, None, -1)
    zygote = None if special else _zygote(args, environment, folder)
    if zygote is None:
        _start_cold(self, args, executable, preexec, *more)
        return
    try:
        files = [given if given >= 0 else standard for standard, given in enumerate((reads, outputs, error))]
        told = {"environment": environment, "folder": folder, "session": session, "group": group}
        self.pid = zygote.start(files, words=[os.fspath(word) for word in args[2:]], **told)
        self._child_created = True
    finally:
        self._close_pipe_fds(reads, writes, output, outputs, errors, error)


def _zygote(args: Any, environment: Mapping[str, str], folder: str) -> Zygote | None:
    """The zygote that can start a command; None: it starts cold."""
    if not isinstance(args, (list, tuple)) or list(args[:2]) != [sys.executable, "-m"] or len(args) < 3:
        return None
    if not STARTED.fullmatch(args[2]) or not Path(folder).is_dir():
        return None
    with _making:
        if not _zygotes:
            _zygotes.append(_new())
        zygote = _zygotes[0]
    return zygote if zygote.takes(environment, folder) else None


def _new() -> Zygote:
    """A zygote, which ends with this process."""
    environment = {**os.environ, THREADS: "1"}
    here, there = socket.socketpair()
    with there, cold():
        command = [sys.executable, "-m", __name__, str(there.fileno())]
        quiet: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        process = subprocess.Popen(command, env=environment, cwd=ROOT, pass_fds=(there.fileno(),), **quiet)
    return Zygote(here, environment, process)


def _paths(environment: Mapping[str, str]) -> list[str]:
    return list(filter(None, environment.get("PYTHONPATH", "").split(os.pathsep)))


# ------------------------------------------------------------------------------------------------------- the zygote


def _serve(asked: socket.socket) -> str:
    """Import and fork; return in each forked process, with the module that it is to run."""
    interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal's Ctrl-C is for the others
    environment, kept = dict(os.environ), sys.path[1 + len(_paths(os.environ)) :]
    for module in IMPORTED:
        importlib.import_module(module)
    importlib.import_module("trainers.losses").kernel()  # numba's code, which is read from files
    del sys.modules["trainers.worker"], sys.modules["trainers"].worker  # it is to run as __main__
    gc.freeze()  # children do not copy what they only look at
    while True:
        told, files = _forked(asked)
        here, there = socket.socketpair()
        if os.fork():
            break
        asked.close()  # this process, the other's zygote, goes on in the loop
        here.close()
        _have([os.open(os.devnull, os.O_RDWR)] * 3)
        for file in files:
            os.close(file)
        asked = there
    there.close()
    _have(files)
    _zygotes.append(Zygote(here, environment))
    install()
    _become(told, kept, environment[THREADS])
    signal.signal(signal.SIGINT, interrupt)
    while os.getppid() != told["parent"]:
        time.sleep(0.001)
    asked.sendall(struct.pack("I", os.getpid()))
    asked.close()
    return str(told["words"][0])


def _forked(asked: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """Fork for whoever asks; return in the forked process, with what it is to be and its files."""
    while True:
        size, files, *_ = socket.recv_fds(asked, 4, 3)
        if not size:
            os._exit(0)
        words = b""
        while len(words) < struct.unpack("I", size)[0]:
            words += asked.recv(1 << 20)
        threads = list(Path("/proc/self/task").iterdir())
        assert len(threads) == 1, f"A zygote may have one thread; imports have started {len(threads) - 1} more."
        between = os.fork()
        if not between:
            if os.fork():
                os._exit(0)
            told = json.loads(words)
            if told["session"]:
                os.setsid()
            if told["group"] >= 0:
                os.setpgid(0, told["group"])
            return told, files
        os.waitpid(between, 0)
        for file in files:
            os.close(file)


def _have(files: Sequence[int]) -> None:
    """Have standard input, output and error."""
    for standard, file in enumerate(files):
        os.dup2(file, standard)
    for file in set(files):
        os.close(file)


def _become(told: Mapping[str, Any], kept: Sequence[str], threads: str) -> None:
    """Find what a process finds that starts with a command, an environment and a folder."""
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    sys.path[:] = [told["folder"], *_paths(os.environ), *kept]
    sys.argv[:] = told["words"]
    importlib.invalidate_caches()
    sys.stdin = sys.__stdin__ = _stream(sys.stdin, 0, "rb", None)
    sys.stdout = sys.__stdout__ = _stream(sys.stdout, 1, "wb", "\n")
    sys.stderr = sys.__stderr__ = _stream(sys.stderr, 2, "wb", "\n")
    sys.modules["numpy"].random.seed()
    sys.modules["torch"].seed()
    if os.environ[THREADS] != threads:
        sys.modules["torch"].set_num_threads(int(os.environ[THREADS]))


def _stream(like: Any, file: int, mode: str, newline: str | None) -> Any:
    """A standard stream as Python opens it: the old one knows what it was opened upon."""
    through = like.write_through  # PYTHONUNBUFFERED
    buffer: Any = open(file, mode, 0 if through and mode == "wb" else -1, closefd=False)  # noqa: SIM115
    lines = not through and (file == 2 or os.isatty(file))
    return io.TextIOWrapper(buffer, like.encoding, like.errors, newline, lines, through)


def _run(module: str) -> NoReturn:
    """Run a module as ``python -m`` does, and leave as the interpreter does, without freeing every object first."""
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
        code = 0
    except SystemExit as end:
        if not isinstance(end.code, int | None):
            raise
        code = end.code or 0
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    leave(code)


if __name__ == "__main__":
    _run(_serve(socket.socket(fileno=int(sys.argv[1]))))  # at the top: what nobody catches ends here
