"""Stands in for Trackio 0.43, which brings another event loop for servers: the same signatures, written as lines."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

OUT = Path("trackio.jsonl")


class Image:
    """An image that is logged."""

    def __init__(self, value: Any, caption: str | None = None) -> None:
        self.shape = list(value.shape)


class Run:
    """A run; every call is a line."""

    def __init__(self, name: str) -> None:
        self.name = name

    def log(self, metrics: dict[str, Any], step: int | None = None) -> None:
        write(self.name, "log", step, {key: getattr(value, "shape", value) for key, value in metrics.items()})

    def finish(self) -> None:
        print("* Run finished. Uploading logs to Trackio (please wait...)")
        write(self.name, "finish", None, {})


def init(
    project: str,
    name: str | None = None,
    group: str | None = None,
    space_id: str | None = None,
    server_url: str | None = None,
    dataset_id: str | None = None,
    bucket_id: str | None = None,
    config: dict[str, Any] | None = None,
    resume: str = "never",
    settings: Any = None,
    private: bool | None = None,
    embed: bool = True,
) -> Run:
    print("* Trackio project initialized:", project)
    write(str(name), "init", None, {"project": project, "config": config, "resume": resume})
    return Run(str(name))


def write(name: str, what: str, step: int | None, values: dict[str, Any]) -> None:
    with OUT.open("a") as file:
        file.write(json.dumps([name, what, step, values]) + "\n")
