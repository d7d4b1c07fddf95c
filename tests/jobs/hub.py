"""The look-alike of the Hub with what it lacks: the list of hardware, and the deletion of a repository."""

from __future__ import annotations

import importlib.util
import json
import os
from typing import Any

from tests.shared import needs

TOKEN = "hf_very_secret_word"
HARDWARE = [
    {"name": "cpu-basic", "prettyName": "CPU Basic", "cpu": "2 vCPU", "ram": "16 GB", "accelerator": None,
     "unitCostMicroUSD": 167, "unitCostUSD": 0.000167, "unitLabel": "minute"},
    {"name": "a10g-largex4", "prettyName": "4x Nvidia A10G", "cpu": "48 vCPU", "ram": "184 GB",
     "accelerator": {"type": "gpu", "model": "A10G", "quantity": "4", "vram": "96 GB", "manufacturer": "Nvidia"},
     "unitCostMicroUSD": 83333, "unitCostUSD": 0.083333, "unitLabel": "minute"},
    {"name": "cpu-gift", "prettyName": "CPU", "cpu": "2 vCPU", "ram": "16 GB", "accelerator": None,
     "unitCostMicroUSD": -1, "unitCostUSD": -0.000001, "unitLabel": "minute"},
]  # fmt: skip


def start_hub() -> Any:
    """A look-alike that lists hardware, deletes repositories, and leaves a job's stage alone when its log is read."""
    spec = importlib.util.spec_from_file_location("fake_hub_of_jobs", needs("tools/fake_hub.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    reply, handler = module.Reply, module.Handler

    def hardware(_request: Any, _sent: bytes) -> None:
        raise reply(200, HARDWARE)

    def delete(request: Any, sent: bytes) -> None:
        asked = json.loads(sent)
        name = f"{asked.get('organization') or 'tester'}/{asked['name']}"
        if request.hub.repos.pop((f"{asked.get('type', 'model')}s", name), None) is None:
            raise module.refusal(404, "RepoNotFound", "Repository not found")
        raise reply(200, {})

    def log(request: Any, _sent: bytes, id: str) -> None:
        """Lines as a server of events sends them, the last ones if so many were asked for."""
        said = [f"line {number}\x1b[31m" for number in range(int(request.query.get("tail", 30)))]
        events = [{"timestamp": "2025-01-01T00:00:00Z", "data": text} for text in said]
        raise reply(
            200, "".join(f"data: {json.dumps(event)}\n\n" for event in events).encode(), kind="text/event-stream"
        )

    handler.do_DELETE = handler.do_POST
    module.ROUTES[:0] = [
        (("GET",), "/api/jobs/hardware", hardware),
        (("GET",), r"/api/jobs/tester/(?P<id>\w+)/logs", log),
        (("DELETE",), "/api/repos/delete", delete),
    ]
    return module.FakeHub().start()


def environment(url: str, home: Any, token: str = TOKEN) -> dict[str, str]:
    """The environment of a program that takes the look-alike for the Hub."""
    kept = {name: value for name, value in os.environ.items() if "proxy" not in name.lower() and name[:3] != "HF_"}
    told = {"HF_ENDPOINT": url, "HF_HOME": str(home), "HF_HUB_DISABLE_XET": "1", "OMP_NUM_THREADS": "1"}
    return {**kept, **told, **({"HF_TOKEN": token} if token else {})}
