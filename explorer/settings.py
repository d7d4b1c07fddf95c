"""Folders, switches and limits of the explorer."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from trainers import ASSETS as ASSETS


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits of one visitor of a public page; on one's own machine nothing is limited.

    Attributes:
        running, waiting: runs of one owner that may train and wait at the same time.
        queue: runs of all owners that may wait.
        held: runs of one address or login that may wait or train, whatever tokens they came with.
        hourly: runs that one address or login may start in an hour.
        scores: scores of one address or login that may wait or be worked on.
        searches: searches of one address or login that may wait or be worked on.
        openings: datasets that one address or login may wait for while they are opened.
        uploads: images of one address that may be received, wait and be read at the same time.
        dropped, dropped_files: bytes and files of a folder of images that is dropped on the page.
        drops: such folders that are kept of one address or login.
        batch, dim, memory, probe: largest images per batch, embedding size, cross-batch memory, images on the maps.
        runs: of one sweep.
        minutes: longest training budget of a run.
        wall_minutes: longest time a run may hold a slot, pauses counted in.
    """

    running: int = 1
    waiting: int = 2
    queue: int = 30
    held: int = 4
    hourly: int = 20
    scores: int = 2
    searches: int = 3
    openings: int = 4
    uploads: int = 4
    dropped: int = 300_000_000
    dropped_files: int = 20_000
    drops: int = 2
    batch: int = 1024
    dim: int = 1280
    memory: int = 65_536
    probe: int = 5_000
    runs: int = 16
    minutes: float = 10.0
    wall_minutes: float = 20.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Paths and switches of one explorer.

    Attributes:
        runs: folder that holds the runs; made when the first run starts.
        recorded: folder of the recorded runs that ship with the program, only ever read.
        public: many visitors who do not know each other: only its owner may control a run, and ``limits`` hold.
        on_space: the page is served by a Space: shown in a frame of the Hub, behind its proxy.
        login: visitors can sign in with their account of the Hub, through Gradio.
        host: the address that the server listens at.
        hosts: further names under which a page that is not public may be opened, say a proxy's; with a port, if the
            browser shows one.
        root_path: the path below which a proxy serves the page, with a slash before it; empty: none, or one that the
            proxy cuts.
        keep: folder on what outlives this machine's disk, to which runs are copied; None: they are not.
        detach: trainers outlive the page.
        max_parallel: runs that train at once; None: one per GPU, one without.
    """

    runs: Path
    recorded: Path = ASSETS / "recorded"
    public: bool = False
    on_space: bool = False
    login: bool = False
    host: str = "127.0.0.1"
    hosts: tuple[str, ...] = ()
    root_path: str = ""
    keep: Path | None = None
    detach: bool = False
    max_parallel: int | None = None
    limits: Limits = field(default_factory=Limits)

    @property
    def opened(self) -> Path:
        """Folder of the comparisons that were opened from the Hub."""
        return self.runs / "hub"
