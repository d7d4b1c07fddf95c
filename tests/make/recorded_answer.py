"""Makes the recorded answer to the page's first query anew: after a change to the models, scenes, words or ranking.

python -m tests.make.recorded_answer
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from explorer.server.library import Library
from explorer.settings import Settings
from explorer.tabs.object_removal.bodies import FILL, K, Query
from explorer.tabs.object_removal.first import CHOSEN
from explorer.tabs.object_removal.recorded import RECORD, TOLD, ingredients, pixels_digest, told_digest
from explorer.tabs.object_removal.service import Objects


def record() -> dict[str, Any]:
    """Ask the models, which takes some seconds, and return what is to be recorded."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(runs=Path(folder), recorded=Path(folder))
        objects = Objects(settings, Library(settings.runs, settings.recorded), record=None)
        try:
            ref, taken = objects.first
            query = Query.of(
                {"image": ref, "remove": {"classes": [taken]}, "fill": FILL, "models": list(CHOSEN), "k": K}
            )
            reply = objects.answers.answer(query, wait=600.0)
            filled = objects.fills.remove(objects.images.get(ref), query.remove, FILL)
            told = {name: reply[name] for name in TOLD}
            made_of, pixels = ingredients(objects.models), pixels_digest(filled)
            return {"made_of": made_of, "pixels": pixels, "digest": told_digest(told), **told}
        finally:
            objects.close()


def main() -> None:
    """Write the record."""
    RECORD.write_text(json.dumps(record(), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"wrote {RECORD.name}")


if __name__ == "__main__":
    main()
