"""Starts the page: ``python app.py``. On a Hugging Face Space this file is started as it stands."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import webbrowser
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.keeping.mounts import check_local
from explorer.server.allocator import give_back_early
from explorer.server.hosts import given_host
from explorer.server.listening import free_port, given_address, in_address
from explorer.server.proxies import ask_itself_directly, read_socks, without_proxies
from explorer.server.root import given_root
from explorer.server.scratch import have_scratch
from explorer.settings import Settings
from trainers import plugins
from trainers.cluster import address as cluster
from trainers.devices.space import on_space, signs_in, space_volume
from trainers.errors import UserError
from trainers.registry import importing
from trainers.runs.naming import whole_id

if TYPE_CHECKING:
    from explorer.explorer import Explorer

ON_SPACE = on_space()


def arguments() -> argparse.Namespace:
    """Return the parser of the flags, with the environment's values as defaults."""
    parser = argparse.ArgumentParser(description="Rankscope: see what a ranking loss learns.")
    parser.add_argument("--host", default=os.environ.get("GRADIO_SERVER_NAME", "0.0.0.0" if ON_SPACE else "127.0.0.1"))
    parser.add_argument("--port", type=int, default=None, help="default: the first free port from 7860 on")
    parser.add_argument(
        "--root-path",
        metavar="PATH",
        default=os.environ.get("GRADIO_ROOT_PATH", ""),
        help="a proxy serves the page below this path, and passes it on",
    )
    parser.add_argument("--runs", type=Path, default=Path(os.environ.get("RANKSCOPE_RUNS", "runs")))
    parser.add_argument(
        "--keep",
        type=Path,
        metavar="FOLDER",
        default=_volume(),
        help="copy runs here, to find them again after a restart",
    )
    parser.add_argument("--run", metavar="RUN", help="open a browser at this run: its id, the beginning, name, or last")
    parser.add_argument("--share", action="store_true", help="also open a public link through Gradio")
    parser.add_argument("--public", action="store_true", default=ON_SPACE, help="visitors control only their own runs")
    parser.add_argument(
        "--allow-host",
        action="append",
        default=[],
        metavar="NAME",
        help="also answer under this name, say a proxy's; with the port, if browsers show one",
    )
    parser.add_argument("--max-parallel", type=int, default=None, help="runs that train at once; default one per GPU")
    parser.add_argument(
        "--plugin",
        "--losses",
        action="append",
        default=[],
        metavar="FILE",
        help="also use the losses, metrics, encoders and datasets of this Python file; see docs/extending.md",
    )
    parser.add_argument("--detach", action="store_true", help="training goes on when this program ends")
    parser.add_argument(
        "--ray",
        metavar="ADDRESS",
        default=cluster.address(),
        help="train on a Ray cluster: auto for the one that this machine belongs to, or HOST:PORT",
    )
    return parser.parse_args()


def _volume() -> Path | None:
    """Return where runs are copied if no flag says it: a folder of the environment's, or what a Space keeps."""
    named, volume = os.environ.get("RANKSCOPE_KEEP", ""), space_volume()
    return Path(named) if named else volume and volume / "rankscope"


def main() -> None:
    """Serve until interrupted."""
    os.environ.setdefault("GRADIO_ANALYTICS_ENABLED", "False")  # no telemetry
    give_back_early()
    flags = arguments()
    try:
        settings = _settings(flags)
        begin_plugins(flags.plugin, public=settings.public)
        port = free_port(settings.host, flags.port)
        have_scratch()
        check_local(flags.runs)
        run = whole_id(flags.runs, flags.run) if flags.run else ""
        if flags.ray:
            cluster.use(flags.ray)
    except UserError as error:
        sys.exit(str(error))
    read_socks()
    ask_itself_directly(settings.host)
    os.environ["GRADIO_SERVER_NAME"] = "127.0.0.1"  # where Gradio looks for free ports, which knows no IPv6
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) != signal.SIG_IGN:  # of nohup
            signal.signal(number, lambda *_: sys.exit(0))  # as Ctrl-C: trainers save, and what they saved is copied
    try:
        with importing():
            with without_proxies():  # Gradio makes clients when it is imported
                from explorer.explorer import Explorer
            explorer = Explorer(settings)
    except UserError as error:  # of a cluster that cannot be joined
        sys.exit(str(error))
    explorer.start()
    explorer.blocks.queue(default_concurrency_limit=8, max_size=64)
    try:
        _launch(explorer, in_address(settings.host), port, flags.share, run)
    finally:
        explorer.close()


def begin_plugins(files: Sequence[str], *, public: bool) -> None:
    """Use files and installed packages, before anything lists what there is; of one that fails a sentence is printed.

    Raises:
        UserError: the page is public, where no file is run, and files are named.
    """
    if public:
        if files or plugins.named():
            raise UserError(plugins.PUBLIC)
        return
    for file in files:
        try:
            plugins.use(file)
        except UserError as error:
            print(f"rankscope: {error}", file=sys.stderr)
    plugins.begin()


def _settings(flags: argparse.Namespace) -> Settings:
    """Return the flags as the explorer needs them.

    Raises:
        UserError: an address is none.
    """
    return Settings(
        runs=flags.runs,
        public=flags.public or flags.share,
        on_space=ON_SPACE,
        login=signs_in(),
        host=given_address(flags.host),
        hosts=tuple(map(given_host, flags.allow_host)),
        root_path=given_root(flags.root_path),
        keep=flags.keep,
        detach=flags.detach,
        max_parallel=flags.max_parallel,
    )


def _launch(explorer: Explorer, host: str, port: int, share: bool, run: str) -> None:
    """Open the page, and a browser at a run if one is named; return when it is interrupted."""
    try:
        with without_proxies():  # Gradio asks itself
            explorer.blocks.launch(
                server_name=host, server_port=port, share=share, prevent_thread_lock=True, **explorer.launch_options
            )
    except OSError:  # Gradio's, on ports
        sys.exit(f"Port {port} of {host} was taken by another program meanwhile. Start the page again.")
    if run:
        address = f"{explorer.blocks.local_url}?run={run}"
        print(f"* The run: {address}", flush=True)
        webbrowser.open(address)
    explorer.blocks.block_thread()


if __name__ == "__main__":
    main()
